"""A clock that stands still until a test moves it. Above: every test about time."""

import asyncio
import heapq
from datetime import UTC, datetime, timedelta
from itertools import count

_PATIENCE = 20.0


class ManualClock:
    """A `Clock`. Whoever sleeps wakes when the test has moved the clock far enough."""

    def __init__(self) -> None:
        self._elapsed = 0.0
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Event]] = []
        self._changed = asyncio.Event()

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.Event()
        sleeper = (self._elapsed + seconds, next(self._order), woken)
        heapq.heappush(self._sleepers, sleeper)
        self._changed.set()
        try:
            await woken.wait()
        finally:
            if sleeper in self._sleepers:
                self._sleepers.remove(sleeper)
                heapq.heapify(self._sleepers)

    @property
    def sleepers(self) -> int:
        """How many sleep."""
        return len(self._sleepers)

    async def asleep(self, sleepers: int) -> None:
        """Wait until so many sleep."""
        async with asyncio.timeout(_PATIENCE):
            while len(self._sleepers) < sleepers:
                self._changed.clear()
                await self._changed.wait()

    async def advance(self, seconds: float) -> None:
        """Move the clock, and let those whose time has come do what they do then."""
        target = self._elapsed + seconds
        while self._sleepers and self._sleepers[0][0] <= target:
            self._elapsed, _, woken = heapq.heappop(self._sleepers)
            woken.set()
            for _ in range(10):
                await asyncio.sleep(0)
        self._elapsed = target
