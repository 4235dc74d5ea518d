"""The event log on SQLite, for one engine on one machine. Above: `session`.

Below: `sqlite_writer` with `sqlite_writes`, `sqlite_readers` with `sqlite_reads`, `sqlite_file`.
"""

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path

from brain.engine.log import sqlite_reads as reads
from brain.engine.log import sqlite_writes as writes
from brain.engine.log.opening import LogCannotOpen
from brain.engine.log.protocol import (
    PAGE_BYTES,
    Append,
    Claimed,
    DailyUsage,
    EventLog,
    EventPage,
    KeptAnswer,
    LogUnavailable,
    SessionPage,
    SessionRecord,
    StoredEvent,
)
from brain.engine.log.sqlite_file import Database, open_database
from brain.engine.log.sqlite_readers import Readers
from brain.engine.log.sqlite_writer import Writer
from brain_core.session import Status

__all__ = ["LogCannotOpen", "open_sqlite"]

_READERS = 4


async def open_sqlite(path: Path) -> EventLog:
    """Open the log at a path, making it if it isn't there. Raises: LogCannotOpen."""
    return SqliteLog(await asyncio.to_thread(open_database, path, _READERS))


class SqliteLog:
    """Implements `EventLog`. The lock on its file makes this process the owner of everything."""

    shared = False

    def __init__(self, database: Database) -> None:
        self._database = database
        self._writer = Writer(database.writer)
        self._readers = Readers(database.readers)
        self._tasks: set[asyncio.Task[None]] = set()
        self._left: deque[str] | None = None
        self._in_background(self._go_on_erasing())

    def create(
        self, record: SessionRecord, event: StoredEvent, answer: KeptAnswer | None = None
    ) -> Awaitable[int]:
        return self._writer.submit(writes.create(record, event, answer))

    def append(self, append: Append) -> Awaitable[None]:
        return self._writer.submit(writes.append(append), session_id=append.session_id)

    async def claim(self, session_id: str) -> int | None:
        # Not synced: an epoch that a power cut takes back is nobody's any more, for it ended every
        # process; and whoever owns the session next appends, which syncs, before others rely on it.
        return await self._writer.submit(
            writes.claim(session_id), session_id=session_id, synced=False
        )

    async def delete(self, session_id: str, epoch: int) -> None:
        await asyncio.shield(self._in_background(self._delete(session_id, epoch)))

    async def get(self, session_id: str) -> SessionRecord | None:
        return await self._readers.run(reads.session(session_id))

    async def list_sessions(
        self, tenant_id: str, limit: int, cursor: str | None, status: Status | None
    ) -> SessionPage:
        return await self._readers.run(reads.sessions(tenant_id, limit, cursor, status))

    async def read(
        self, session_id: str, after: int, limit: int, max_bytes: int = PAGE_BYTES
    ) -> EventPage:
        return await self._readers.run(reads.events(session_id, after, limit, max_bytes))

    async def claim_open(self, limit: int) -> Sequence[Claimed]:
        # Nobody but the processes before this one can have left any.
        if self._left is None:
            self._left = deque(await self._readers.run(reads.open_sessions))
        claimed: list[Claimed] = []
        while self._left and len(claimed) < limit:
            session_id = self._left[0]
            epoch = await self.claim(session_id)
            self._left.popleft()
            if epoch is not None:
                claimed.append(Claimed(session_id, epoch))
        return claimed

    async def release(self, session_id: str, epoch: int) -> None:
        """There is nobody to let it go for."""

    async def owner(self, session_id: str) -> str | None:  # noqa: ARG002
        return None

    async def lost(self, owned: Sequence[Claimed]) -> Sequence[str]:  # noqa: ARG002
        return ()

    def lease_ends(self) -> float:
        return math.inf

    async def closed_before(self, moment: str, limit: int) -> Sequence[str]:
        return await self._readers.run(reads.closed_before(moment, limit))

    async def usage(
        self, tenant_id: str, from_day: str | None, to_day: str | None
    ) -> Sequence[DailyUsage]:
        return await self._readers.run(reads.usage(tenant_id, from_day, to_day))

    async def answered(self, tenant_id: str, key: str) -> KeptAnswer | None:
        return await self._readers.run(reads.answered(tenant_id, key))

    async def keep(self, answer: KeptAnswer) -> None:
        await self._writer.submit(writes.keep(answer))

    async def drop_answers(self, now: str, limit: int) -> int:
        return await self._writer.submit(writes.drop_answers(now, limit), synced=False)

    async def ping(self) -> None:
        await self._readers.run(reads.look)
        await self._writer.submit(writes.beat, synced=False)

    async def close(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._writer.close()
        await self._readers.close()
        await asyncio.to_thread(self._database.close)

    async def _delete(self, session_id: str, epoch: int) -> None:
        await self._writer.submit(writes.remove(session_id, epoch), session_id=session_id)
        await self._erase()

    async def _erase(self) -> None:
        """Erase all events of deleted sessions, in steps, so that nobody waits for long."""
        while await self._writer.submit(writes.erase_some):
            pass
        # Until then what was erased could still be found in the write-ahead log.
        await self._writer.submit(writes.nothing, truncate=True)

    async def _go_on_erasing(self) -> None:
        """Erase what a process that was killed has left; if that fails, the next delete tries."""
        with suppress(LogUnavailable):
            await self._erase()

    def _in_background(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
