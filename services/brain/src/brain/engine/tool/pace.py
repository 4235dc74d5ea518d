"""Turns at the event loop for those who have much to do. Above: `http_response`.

A service may send more in one go than the loop can work through without keeping all sessions
waiting, and two hundred services may do so at once. So whoever has more to do than one piece takes
turns: a moment in each round of the loop, and all of them together no more than a share of the
engine's time. What they are not given, services that flood have to wait for, too.
"""

import asyncio
import time

MOMENT_SECONDS = 0.0001
SHARE = 0.2
"""Of the engine's time, for all who take turns, in the long run."""

BURST_SECONDS = 0.1
"""Of work that needs no rest: a few large results are read as fast as they come."""

_MOST_SECONDS = 0.005
"""What a turn counts for at most, since it isn't seen when its work ended."""


class Pace:
    """The turns of one event loop."""

    def __init__(self) -> None:
        self._turns = asyncio.Lock()
        self._given = self._seen = time.perf_counter()
        self._credit = BURST_SECONDS

    async def turn(self) -> None:
        """Wait for a turn to do one more piece of work."""
        if time.perf_counter() < self._given + MOMENT_SECONDS:
            return
        async with self._turns:
            await asyncio.sleep(self._rest())
            self._given = time.perf_counter()

    def _rest(self) -> float:
        """Seconds until the next turn, once the last one is paid for."""
        now = time.perf_counter()
        spent = min(now - self._given, _MOST_SECONDS)
        earned = (now - self._seen) * SHARE
        self._seen = now
        self._credit = min(BURST_SECONDS, self._credit + earned - spent)
        return max(0.0, -self._credit / SHARE)
