"""Turns at the event loop for those who have much to do. Above: `http_response`.

A service may send more in one go than the loop can work through without keeping all sessions
waiting, and two hundred services may do so at once. So whoever has more to do than one piece takes
turns: a moment in each round of the loop, and all of them together no more than a share of the
engine's time. What they are not given, services that flood have to wait for, too.
"""

import asyncio
import time
from collections.abc import Callable

MOMENT_SECONDS = 0.0001
SHARE = 0.2
"""Of the engine's time, for all who take turns, in the long run."""

BURST_SECONDS = 0.1
"""Of work that needs no rest: a few large results are read as fast as they come."""

_MOST_SECONDS = 0.005
"""What a turn counts for at most, since others may have worked before its end was seen."""


class Pace:
    """The turns of one event loop."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._turns = asyncio.Lock()
        self._given = self._seen = now()
        self._ended: float | None = self._given
        self._credit = BURST_SECONDS

    async def turn(self) -> None:
        """Wait for a turn to do one more piece of work."""
        if self._now() < self._given + MOMENT_SECONDS:
            return
        async with self._turns:
            await asyncio.sleep(self._rest())
            self._given, self._ended = self._now(), None
        # Comes to be called once whoever has the turn has let go of the loop: what is not work,
        # but waiting for a service that has sent all it had, doesn't count.
        asyncio.get_running_loop().call_soon(self._end)

    def _end(self) -> None:
        self._ended = self._ended or self._now()

    def _rest(self) -> float:
        """Seconds until the next turn, once the last one is paid for."""
        now = self._now()
        spent = min((self._ended or now) - self._given, _MOST_SECONDS)
        earned = (now - self._seen) * SHARE
        self._seen = now
        self._credit = min(BURST_SECONDS, self._credit + earned - spent)
        return max(0.0, -self._credit / SHARE)
