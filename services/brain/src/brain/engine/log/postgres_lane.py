"""The order of writes: each session's go down one lane, one after the other. Above: `postgres`.

What waits while a write is under way is written together, in one statement and one commit. When the
connection is lost nobody knows whether the last commit came about: it is asked for again over
another connection, and every write can tell then whether it is there already.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from msgspec import Struct

from brain.engine.log.postgres_connections import Connection, Line
from brain.engine.log.postgres_errors import FAILED, LOST, PASSING, unavailable
from brain.engine.log.protocol import KeyTaken, LogUnavailable, StaleOwner

PATIENCE_SECONDS = 5.0
"""So long a write waits for Postgres to come back."""

_PAUSE_SECONDS = 0.1
_ATTEMPTS = 5
AT_ONCE = 500
BYTES_AT_ONCE = 8 * 1024 * 1024


class Write(Struct):
    """Something to write to a session. It is given its result, or its error, by its `Kind`."""

    session_id: str
    kind: "Kind"
    content: Any
    future: "asyncio.Future[Any]"
    size: int = 0
    result: object = None
    error: Exception | None = None


class Kind(Protocol):
    """How writes are done, some at once."""

    def joins(self, writes: Sequence[Write], write: Write) -> bool:
        """Whether it can be done together with these, after them."""
        ...

    async def run(self, connection: Connection, writes: Sequence[Write], *, again: bool) -> None:
        """Do them, in one transaction. With `again` they may be done already."""
        ...


class Lane:
    """Writes of some sessions, in the order in which they were asked for."""

    def __init__(self, url: str) -> None:
        self._line = Line(url)
        self._waiting: deque[Write] = deque()
        self._missed: set[str] = set()
        self._task: asyncio.Task[None] | None = None
        self._down = False
        self._closed = False

    def submit(self, session_id: str, kind: Kind, content: Any, size: int = 0) -> Awaitable[Any]:
        """Take a place in the order, now.

        Raises, when awaited: StaleOwner, KeyTaken, LogUnavailable.
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self._closed:
            future.set_exception(LogUnavailable("The log is closed."))
            return future
        self._waiting.append(Write(session_id, kind, content, future, size))
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        return future

    async def close(self) -> None:
        """Write what was asked for, then stop."""
        self._closed = True
        if self._task is not None:
            await self._task
        await self._line.close()

    async def _run(self) -> None:
        while self._waiting:
            writes = self._gather()
            await self._write(writes)
            for write in writes:
                self._resolve(write)
        self._task = None

    def _gather(self) -> list[Write]:
        """What waits and can be done at once, in order."""
        writes = [self._waiting.popleft()]
        kind, size = writes[0].kind, writes[0].size
        while self._waiting and len(writes) < AT_ONCE:
            write = self._waiting[0]
            size += write.size
            if write.kind is not kind or size > BYTES_AT_ONCE or not kind.joins(writes, write):
                break
            writes.append(self._waiting.popleft())
        return writes

    async def _write(self, writes: list[Write]) -> None:
        try:
            await self._persist(writes)
        except LOST as error:
            for write in writes:
                write.error = unavailable(error)
        except Exception as error:  # noqa: BLE001 - whatever it was, someone waits to hear of it
            if len(writes) > 1:  # one is at fault, and not all
                for write in writes:
                    await self._write([write])
            else:
                writes[0].error = unavailable(error) if isinstance(error, FAILED) else error

    async def _persist(self, writes: list[Write]) -> None:
        """Do it, whatever becomes of connections in the meantime."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (0 if self._down else PATIENCE_SECONDS)
        again, attempts = False, 0
        while True:
            try:
                connection = await self._line.connection()
                again, before = True, again
                for write in writes:
                    write.error = None
                await writes[0].kind.run(connection, writes, again=before)
            except PASSING:
                attempts += 1
                if attempts == _ATTEMPTS:
                    raise
            except LOST:
                self._line.drop()
                self._down = loop.time() >= deadline
                if self._down:
                    raise
                await asyncio.sleep(_PAUSE_SECONDS)
            else:
                self._down = False
                return

    def _resolve(self, write: Write) -> None:
        error = write.error
        if isinstance(error, StaleOwner):
            # Whoever appended before it is known to have failed has not lost its session.
            if write.session_id in self._missed:
                error = LogUnavailable("An earlier write failed.")
        elif error is not None and not isinstance(error, KeyTaken):
            self._missed.add(write.session_id)
        else:
            self._missed.discard(write.session_id)
        if write.future.done():
            return  # whoever waited went away; the write stands all the same
        if error is not None:
            write.future.set_exception(error)
        else:
            write.future.set_result(write.result)


class Alone:
    """A write that nothing is done together with."""

    def joins(self, writes: Sequence[Write], write: Write) -> bool:  # noqa: ARG002
        return False

    async def run(self, connection: Connection, writes: Sequence[Write], *, again: bool) -> None:
        (write,) = writes
        operation: Operation = write.content
        try:
            write.result = await operation(connection, again)
        except StaleOwner as error:
            write.error = error


Operation = Callable[[Connection, bool], Awaitable[object]]
"""Is told whether it may be done already."""
