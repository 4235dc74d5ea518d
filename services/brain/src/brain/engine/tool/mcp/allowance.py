"""How often a server may make its client do something. Above: `transport`, `reply`."""

import asyncio


class Allowance:
    """So many at once, and as many more as time has earned since. Use it in one event loop."""

    def __init__(self, at_once: int, per_second: float) -> None:
        self._at_once = at_once
        self._per_second = per_second
        self._now = asyncio.get_running_loop().time
        self._left = float(at_once)
        self._seen = self._now()

    def take(self) -> bool:
        """Whether it may happen once more, now."""
        now = self._now()
        self._left = min(self._at_once, self._left + (now - self._seen) * self._per_second)
        self._seen = now
        if self._left < 1:
            return False
        self._left -= 1
        return True

    async def wait(self) -> None:
        """Wait until it may happen once more."""
        if not self.take():
            await asyncio.sleep((1 - self._left) / self._per_second)
            self._left, self._seen = 0.0, self._now()
