"""Whoever works long has to rest; whoever waits for a service has not worked."""

import asyncio

from brain.engine.tool.pace import BURST_SECONDS, MOMENT_SECONDS, Pace


class Now:
    """A time that stands still until it is moved."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


async def rounds() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def given_at_once(pace: Pace) -> bool:
    """Whether a turn comes in the next rounds of the loop, without a rest."""
    turn = asyncio.create_task(pace.turn())
    await rounds()
    at_once = turn.done()
    turn.cancel()
    return at_once


async def test_waiting_for_a_service_between_turns_is_not_work() -> None:
    now = Now()
    pace = Pace(now)
    for _ in range(200):
        now.seconds += 0.004  # the next of many results, one after the other
        assert await given_at_once(pace)


async def test_work_without_a_break_has_to_rest_once_the_burst_is_used_up() -> None:
    now = Now()
    pace = Pace(now)
    turns = 0
    while await works(pace, now):
        turns += 1
    # Some of the burst is earned anew while it is used.
    assert BURST_SECONDS <= turns * 10 * MOMENT_SECONDS <= 2 * BURST_SECONDS


async def works(pace: Pace, now: Now) -> bool:
    """Whether a turn comes without a rest; its owner then works for ten moments."""

    async def piece() -> None:
        await pace.turn()
        now.seconds += 10 * MOMENT_SECONDS

    turn = asyncio.create_task(piece())
    await rounds()
    worked = turn.done()
    turn.cancel()
    return worked
