"""A follower, under every order in which events, gaps, beats and reads can happen."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.edge.follower import Follower, Standing
from brain.edge.frames import Frame

FRAMES, BYTES = 4, 64


def durable(seq: int, *, idle: bool = False, size: int = 4) -> Frame:
    return Frame(seq, f"{seq};".encode().rjust(size), idle)


def live(size: int = 2) -> Frame:
    return Frame(0, b"~".rjust(size), False)


def follower(*, after: int = 0, until_idle: bool = False) -> Follower:
    return Follower(
        "tenant", "session", after=after, until_idle=until_idle, max_frames=FRAMES, max_bytes=BYTES
    )


def joined(last_seq: int = 0, *, after: int | None = None, until_idle: bool = False) -> Follower:
    one = follower(after=last_seq if after is None else after, until_idle=until_idle)
    one.join(Standing("running", last_seq, idle=False))
    return one


def shown(data: bytes) -> list[int]:
    return [int(part) for part in data.replace(b"~", b"").split(b";") if part.strip()]


@pytest.mark.requirement("EVT-04")
def test_live_only_events_are_dropped_first() -> None:
    one = joined()
    for _ in range(FRAMES):
        one.push(live())
    one.push(live())
    for seq in range(1, FRAMES + 1):
        one.push(durable(seq))
    assert not one.must_read_log
    data = one.take()
    assert b"~" not in data
    assert shown(data) == [1, 2, 3, 4]


@pytest.mark.requirement("EVT-04")
def test_durable_events_that_do_not_fit_are_read_from_the_log() -> None:
    one = joined()
    for seq in range(1, FRAMES + 2):
        one.push(durable(seq))
    assert one.must_read_log
    assert one.take() == b""


@pytest.mark.requirement("EVT-04")
def test_the_queue_is_bounded_in_bytes() -> None:
    one = joined()
    one.push(durable(1, size=BYTES - 10))
    one.push(durable(2, size=20))
    assert one.must_read_log


def test_an_event_larger_than_the_queue_passes_when_nothing_waits() -> None:
    one = joined()
    one.push(durable(1, size=BYTES * 10))
    assert shown(one.take()) == [1]


def test_live_only_events_from_before_what_the_log_gave_are_not_shown() -> None:
    one = joined(last_seq=1, after=0)
    one.push(live())
    one.push(durable(2))
    one.push(live())
    out: list[bytes] = []
    one.advance([durable(1), durable(2)], out)
    assert out == [b"  1;", b"  2;"]
    assert one.take() == live().data


def test_an_answer_of_the_engine_that_comes_after_the_client_left_changes_nothing() -> None:
    one = follower()
    one.end()
    one.join(Standing("running", 3, idle=False))
    assert one.finished


class World:
    """A session's log, a follower of it, and what its client was shown."""

    def __init__(self, after: int, start: int) -> None:
        self.follower = follower(after=after)
        self.log = start
        self.seen: list[int] = []
        self.rejoin()

    def durable(self, size: int = 4) -> None:
        self.log += 1
        if self.follower.phase == "live":
            self.follower.push(durable(self.log, size=size))

    def large(self) -> None:
        self.durable(size=40)

    def live(self) -> None:
        if self.follower.phase == "live":
            self.follower.push(live())

    def gap(self) -> None:
        self.follower.lose()

    def rejoin(self) -> None:
        self.follower.join(Standing("running", self.log, idle=False))

    def take(self) -> None:
        self.seen += shown(self.follower.take())

    def read(self) -> None:
        self.seen += read_page(self.follower, self.log)


STEPS = (World.durable, World.large, World.live, World.gap, World.rejoin, World.take, World.read)


@pytest.mark.requirement("EVT-02", "EVT-04")
@given(
    after=st.integers(0, 5),
    start=st.integers(0, 5),
    steps=st.lists(st.sampled_from(STEPS), max_size=60),
)
def test_whatever_happens_each_durable_event_is_shown_once_and_in_order(
    after: int, start: int, steps: list[Callable[[World], None]]
) -> None:
    world = World(after, start)
    for step in [*steps, World.rejoin]:
        step(world)
    while world.follower.must_read_log:
        world.read()
    world.take()
    assert world.seen == list(range(after + 1, world.log + 1))


def read_page(one: Follower, log: int) -> list[int]:
    """What `sse` does: a page of the log, if that is where the next events are."""
    if not one.must_read_log:
        return []
    out: list[bytes] = []
    one.advance([durable(seq) for seq in range(one.sent + 1, min(one.sent + 3, log) + 1)], out)
    return shown(b"".join(out))


@pytest.mark.requirement("EVT-05")
@given(idle_at=st.integers(1, 8), extra=st.integers(0, 8), reads=st.lists(st.booleans()))
def test_until_idle_ends_exactly_where_the_session_became_idle(
    idle_at: int, extra: int, reads: list[bool]
) -> None:
    one = joined(until_idle=True)
    seen: list[int] = []
    total = idle_at + extra
    for seq in range(1, total + 1):
        one.push(durable(seq, idle=seq == idle_at))
        if seq < len(reads) and reads[seq]:
            seen += shown(one.take())
    while one.must_read_log:
        seen += read_page(one, total)
    seen += shown(one.take())
    assert one.finished
    assert seen == list(range(1, idle_at + 1))
