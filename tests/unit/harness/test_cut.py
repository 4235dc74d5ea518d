"""Where a conversation may be cut, and how much of it is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from brain.engine.harness.pi.context import Context, Group
from brain.engine.harness.pi.cut import Room, cut, room_after_overflow, room_in, room_on_request
from brain.engine.harness.pi.tokens import estimate
from brain.engine.model.protocol import AssistantTurn, ToolTurn, UserTurn
from brain_core.content import TextBlock, ToolCallBlock

pytestmark = pytest.mark.requirement("LOOP-04")


def user(seq: int, tokens: int) -> Group:
    return Group(seq, [UserTurn((TextBlock("u" * 4 * tokens),))], begins_turn=True)


def steer(seq: int, tokens: int) -> Group:
    return Group(seq, user(seq, tokens).turns)


def answer(seq: int, tokens: int) -> Group:
    return Group(seq, [AssistantTurn((TextBlock("a" * 4 * tokens),), "test/any")])


def batch(seq: int, tokens: int) -> Group:
    called = ToolCallBlock(f"call_{seq}", "ask", Raw(b"{}"))
    result = ToolTurn(called.call_id, "ask", (TextBlock("r" * 4 * (tokens - 2)),), False)
    return Group(seq, [AssistantTurn((called,), "test/any"), result])


def context_of(*groups: Group) -> Context:
    context = Context()
    context.groups = list(groups)
    context.last_seq = groups[-1].seq + 5
    return context


def seqs(groups: tuple[Group, ...]) -> list[int]:
    return [group.seq for group in groups]


def test_a_window_has_room_for_all_but_16384_tokens_and_20000_are_kept() -> None:
    assert room_in(200_000) == Room(200_000 - 16_384, 20_000)


def test_a_small_window_keeps_half_of_what_it_has_room_for() -> None:
    assert room_in(32_000) == Room(15_616, 7_808)
    assert room_in(9_000) == Room(3_000, 1_500)


def test_after_an_overflow_the_room_is_smaller_than_what_was_too_much() -> None:
    assert room_after_overflow(None, 9_000) == Room(6_000, 3_000)
    assert room_after_overflow(200_000, 90_000) == Room(60_000, 20_000)
    assert room_after_overflow(32_000, 90_000) == room_in(32_000)


def test_on_request_about_20000_tokens_are_kept_whatever_the_window() -> None:
    assert room_on_request(None, 100_000).kept == 20_000
    assert room_on_request(200_000, 100_000).kept == 20_000


def test_room_is_brought_to_the_scale_of_the_estimates_if_they_are_too_low() -> None:
    assert Room(1000, 100).scaled(estimated=50, counted=200) == Room(250, 25)
    assert Room(1000, 100).scaled(estimated=200, counted=50) == Room(1000, 100)
    assert Room(1000, 100).scaled(estimated=0, counted=0) == Room(1000, 100)


def test_recent_groups_are_kept_as_far_as_there_is_room() -> None:
    context = context_of(user(2, 10), answer(4, 10), user(6, 10), answer(8, 10))

    found = cut(context, Room(1000, 20))

    assert found is not None
    assert seqs(found.history) == [2, 4]
    assert found.prefix == ()
    assert found.first_kept_seq == 6
    assert found.freed == 20


def test_a_cut_inside_a_turn_tells_its_first_part_from_the_history() -> None:
    context = context_of(user(2, 10), answer(4, 10), user(6, 10), batch(8, 10), batch(11, 10))

    found = cut(context, Room(1000, 10))

    assert found is not None
    assert seqs(found.history) == [2, 4]
    assert seqs(found.prefix) == [6, 8]
    assert found.first_kept_seq == 11


def test_a_turn_whose_beginning_was_summarised_before_is_history() -> None:
    context = context_of(batch(8, 10), batch(11, 10), batch(14, 10))

    found = cut(context, Room(1000, 10))

    assert found is not None
    assert (seqs(found.history), found.prefix) == ([8, 11], ())


def test_a_steered_message_does_not_begin_a_turn() -> None:
    context = context_of(user(2, 10), batch(4, 10), steer(7, 10), batch(9, 10))

    found = cut(context, Room(1000, 20))

    assert found is not None
    assert (found.history, seqs(found.prefix)) == ((), [2, 4])


def test_if_all_is_recent_there_is_nothing_to_cut() -> None:
    assert cut(context_of(user(2, 10), answer(4, 10)), Room(1000, 20)) is None
    assert cut(context_of(user(2, 5000)), Room(10, 5)) is None


def test_what_the_user_said_last_is_kept_however_long_it_is() -> None:
    context = context_of(user(2, 10), answer(4, 10), user(6, 500), steer(7, 500))

    found = cut(context, Room(100, 50))

    assert found is not None
    assert found.first_kept_seq == 6


def test_the_last_batch_is_kept_even_if_it_is_more_than_what_is_usually_kept() -> None:
    found = cut(context_of(user(2, 10), batch(4, 10), batch(7, 70)), Room(100, 50))

    assert found is not None
    assert found.first_kept_seq == 7


def test_a_last_batch_that_fills_the_room_alone_is_summarised_too() -> None:
    found = cut(context_of(user(2, 10), batch(4, 80)), Room(100, 50))

    assert found is not None
    assert seqs(found.prefix) == [2, 4]
    assert found.first_kept_seq == 10


@given(
    sizes=st.lists(st.tuples(st.sampled_from("uasb"), st.integers(2, 60)), min_size=1, max_size=12),
    kept=st.integers(1, 200),
)
def test_every_cut_leaves_whole_groups_and_keeps_their_order(
    sizes: list[tuple[str, int]], kept: int
) -> None:
    made = {"u": user, "a": answer, "b": batch, "s": steer}
    groups = [made[kind](3 * place, size) for place, (kind, size) in enumerate(sizes, start=1)]
    context = context_of(*groups)

    found = cut(context, Room(2 * kept, kept))

    if found is None:
        return
    rest = [group for group in groups if group.seq >= found.first_kept_seq]
    assert [*found.history, *found.prefix, *rest] == groups
    assert found.freed == sum(estimate(group.turns) for group in (*found.history, *found.prefix))
    assert found.freed > 0
    assert not found.prefix or found.prefix[0].begins_turn
