"""An event log that writes only when it is told. Above: `player`. Below: a real log.

So it is the plan, and not the disk, that says what has become durable when something else happens.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, cast

from brain.engine.log.protocol import Append, EventLog, LogUnavailable


class SteppedLog:
    """Everything but `append` goes to the real log at once."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._waiting: deque[tuple[Append, asyncio.Future[None]]] = deque()
        self._running: set[asyncio.Future[Any]] = set()

    @property
    def as_log(self) -> EventLog:
        """This, as the engine knows it."""
        return cast("EventLog", self)

    def append(self, append: Append) -> Awaitable[None]:
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((append, written))
        return written

    async def write_one(self) -> bool:
        """Write what has waited longest; False if nothing waits."""
        if not self._waiting:
            return False
        append, written = self._waiting.popleft()
        try:
            await self._log.append(append)
        except Exception as error:  # noqa: BLE001 - it is for whoever waits for the append
            written.set_exception(error)
        else:
            written.set_result(None)
        return True

    async def reads_end(self) -> bool:
        """Wait until what is being read has been; False if nothing is."""
        if not self._running:
            return False
        await asyncio.wait(self._running)
        return True

    def lose(self) -> None:
        """Write nothing of what waits: the engine has died before."""
        while self._waiting:
            _, written = self._waiting.popleft()
            written.set_exception(LogUnavailable("The engine has died."))

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._log, name)
        return self._followed(value) if callable(value) else value

    def _followed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **fields: Any) -> Any:
            result = method(*args, **fields)
            if not isinstance(result, Awaitable):
                return result
            running = asyncio.ensure_future(cast("Awaitable[Any]", result))
            self._running.add(running)
            running.add_done_callback(self._running.discard)
            return running

        return call
