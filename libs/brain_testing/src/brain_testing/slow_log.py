"""An event log whose appends a test can hold back, or lose as a crash does.

Above: tests of what happens between two commits. Below: a real log, which `Tuning.around_log` hands
over.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, cast

from brain.engine.log.protocol import Append, EventLog
from brain_testing.desk import within

_Held = tuple["asyncio.Future[None]", Callable[[], Awaitable[None]]]


class SlowLog:
    """Holds appends back from the first one that tells of an event of a certain type."""

    def __init__(self) -> None:
        self._kinds: frozenset[str] | None = None
        self._holding = False
        self._held: deque[_Held] = deque()
        self._changed = asyncio.Condition()
        self._waking: set[asyncio.Task[None]] = set()

    def around(self, log: EventLog) -> EventLog:
        """The log in front of `log`. What was held for the one before it is lost."""
        self.lose()
        return cast("EventLog", _Gate(log, self.append))

    def hold(self, *kinds: str) -> None:
        """Hold back what is appended, from the first event of one of these types on."""
        self._kinds = frozenset(kinds)

    def release(self) -> None:
        """Write what is held, in order, and hold no more."""
        self._kinds, self._holding = None, False
        held, self._held = self._held, deque()
        for future, write in held:
            _chain(asyncio.ensure_future(write()), future)

    def lose(self) -> None:
        """Forget what is held, as if the process had died before it was written."""
        self._kinds, self._holding = None, False
        self._held.clear()

    async def held(self, times: int) -> None:
        """Wait until so many appends are held back."""
        async with self._changed:
            await within(self._changed.wait_for(lambda: len(self._held) >= times))

    def append(self, append: Append, write: Callable[[], Awaitable[None]]) -> Awaitable[None]:
        """Write now, or later."""
        if self._kinds is not None and any(event.type in self._kinds for event in append.events):
            self._holding = True
        if not self._holding:
            return write()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._held.append((future, write))
        task = asyncio.create_task(self._tell())
        self._waking.add(task)
        task.add_done_callback(self._waking.discard)
        return future

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()


class _Gate:
    """Everything but `append` goes to the real log as it is."""

    def __init__(
        self,
        log: EventLog,
        append: Callable[[Append, Callable[[], Awaitable[None]]], Awaitable[None]],
    ) -> None:
        self._log = log
        self._append = append

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def append(self, append: Append) -> Awaitable[None]:
        return self._append(append, lambda: self._log.append(append))


def _chain(written: "asyncio.Future[None]", future: "asyncio.Future[None]") -> None:
    def on_written(done: "asyncio.Future[None]") -> None:
        error = done.exception()
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)

    written.add_done_callback(on_written)
