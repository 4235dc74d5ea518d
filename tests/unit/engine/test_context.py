"""The model's context is a fold of the log, and always a valid request."""

import pytest
from msgspec import Raw

from brain.engine.harness.pi.context import Context
from brain.engine.model.protocol import AssistantTurn, ToolTurn, UserTurn
from brain_core.content import TextBlock, ToolCallBlock
from brain_core.events import (
    AssistantMessage,
    Event,
    EventData,
    MessagesDelivered,
    MessageWithdrawn,
    StopReason,
    ToolResulted,
    TurnStarted,
    UserMessage,
)
from brain_core.usage import Usage

pytestmark = pytest.mark.requirement("LOOP-01")


def folded(*data: EventData) -> Context:
    context = Context()
    for seq, each in enumerate(data, start=1):
        context.apply(Event(seq, each.type, "ses_1", "turn_1", "2026-12-01T00:00:00.000Z", each))
    return context


def said(text: str, message_id: str) -> UserMessage:
    return UserMessage(message_id, (TextBlock(text),), "queue")


def answered(
    *blocks: TextBlock | ToolCallBlock, stop_reason: StopReason = "end_turn", tokens: int = 1
) -> AssistantMessage:
    return AssistantMessage("msg_a", blocks, "demo/script", stop_reason, Usage(tokens, tokens))


def call(call_id: str) -> ToolCallBlock:
    return ToolCallBlock(call_id, "echo", Raw(b"{}"))


def resulted(call_id: str, text: str) -> ToolResulted:
    return ToolResulted(call_id, "echo", (TextBlock(text),), False, False)


def test_a_message_stands_where_it_was_delivered_not_where_it_was_accepted() -> None:
    context = folded(
        said("first", "msg_1"),
        TurnStarted(("msg_1",)),
        said("second", "msg_2"),
        answered(TextBlock("hello")),
        TurnStarted(("msg_2",)),
    )

    assert context.turns() == (
        UserTurn((TextBlock("first"),)),
        AssistantTurn((TextBlock("hello"),), "demo/script"),
        UserTurn((TextBlock("second"),)),
    )


def test_results_stand_in_the_order_of_the_calls_whatever_order_they_came_in() -> None:
    context = folded(
        said("go", "msg_1"),
        TurnStarted(("msg_1",)),
        answered(call("call_1"), call("call_2"), call("call_3"), stop_reason="tool_calls"),
        resulted("call_3", "three"),
        resulted("call_1", "one"),
        resulted("call_2", "two"),
    )

    results = [turn for turn in context.turns() if isinstance(turn, ToolTurn)]
    assert [turn.call_id for turn in results] == ["call_1", "call_2", "call_3"]
    assert [turn.content for turn in results] == [
        (TextBlock("one"),),
        (TextBlock("two"),),
        (TextBlock("three"),),
    ]


def test_a_steered_message_stands_behind_the_results_of_the_batch() -> None:
    context = folded(
        said("go", "msg_1"),
        TurnStarted(("msg_1",)),
        answered(call("call_1"), stop_reason="tool_calls"),
        said("wait", "msg_2"),
        resulted("call_1", "done"),
        MessagesDelivered(("msg_2",)),
    )

    assert [type(turn) for turn in context.turns()] == [UserTurn, AssistantTurn, ToolTurn, UserTurn]


def test_a_call_without_a_result_is_answered_all_the_same() -> None:
    context = folded(
        said("go", "msg_1"),
        TurnStarted(("msg_1",)),
        answered(call("call_1"), stop_reason="tool_calls"),
        said("again", "msg_2"),
        TurnStarted(("msg_2",)),
    )

    lost = context.turns()[2]
    assert isinstance(lost, ToolTurn)
    assert lost.call_id == "call_1"
    assert lost.is_error


@pytest.mark.parametrize("stop_reason", ["interrupted", "error"])
def test_what_was_broken_off_is_not_said_again(stop_reason: StopReason) -> None:
    context = folded(
        said("go", "msg_1"),
        TurnStarted(("msg_1",)),
        answered(TextBlock("half a sen"), stop_reason=stop_reason),
    )

    assert context.turns() == (UserTurn((TextBlock("go"),)),)


def test_a_withdrawn_message_is_never_said() -> None:
    context = folded(said("oops", "msg_1"), MessageWithdrawn("msg_1", "client"))

    assert context.turns() == ()


def test_steps_are_counted_anew_in_each_turn() -> None:
    context = folded(
        said("a", "msg_1"),
        TurnStarted(("msg_1",)),
        answered(call("call_1"), stop_reason="tool_calls", tokens=5),
        resulted("call_1", "x"),
        answered(TextBlock("y"), tokens=7),
        said("b", "msg_2"),
        TurnStarted(("msg_2",)),
        answered(TextBlock("z"), tokens=2),
    )

    assert context.steps == 1
