"""How long a provider may keep an answer waiting. Above: `http_stream`. Below: a clock.

Two things end the wait. A connection on which nothing arrives at all has been lost without a word.
And one that only says that it is still there (comments, pings, empty events) can't say so for
ever: the answer itself has to grow from time to time.
"""

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, TypeVar

from brain_core.clock import Clock

KEPT_ALIVE_TIMES = 5
"""So many times the time of silence may pass with nothing but signs of life."""

_T = TypeVar("_T")


class OutOfPatience(Exception):
    """The provider was silent for too long. Its text says of what sort the silence was."""


class Patience:
    """The wait for one answer: `async with Patience(clock, 120) as patience:`.

    Only the time spent in `wait` counts, not what the answer's reader does in between.
    """

    def __init__(self, clock: Clock, idle_seconds: float) -> None:
        self._clock = clock
        self._silence = idle_seconds
        self._stillness = idle_seconds * KEPT_ALIVE_TIMES
        self._heard = self._grew = clock.monotonic()
        self._wait: asyncio.Timeout | None = None
        self._watching: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Patience":
        self._watching = asyncio.create_task(self._watch())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._watching is not None:
            self._watching.cancel()

    async def wait(self, arrival: Coroutine[Any, Any, _T]) -> _T:
        """Wait for something to arrive. Raises: OutOfPatience."""
        self._heard = self._clock.monotonic()
        try:
            async with asyncio.timeout(None) as self._wait:
                return await arrival
        except TimeoutError:
            if self._wait is None or not self._wait.expired():
                raise
            raise OutOfPatience(self._why()) from None
        finally:
            self._wait = None

    def grew(self) -> None:
        """The answer has grown."""
        self._grew = self._clock.monotonic()

    def _left(self) -> float:
        limit = min(self._heard + self._silence, self._grew + self._stillness)
        return limit - self._clock.monotonic()

    def _why(self) -> str:
        if self._clock.monotonic() - self._heard >= self._silence:
            return f"It sent nothing for {self._silence:g} s."
        return f"It sent only signs of life for {self._stillness:g} s."

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            left = self._left()
            if left <= 0 and self._wait is not None:
                self._wait.reschedule(loop.time())
                return
            # While nobody waits, the wait to come is given its whole time.
            await self._clock.sleep(left if left > 0 else self._silence)
