"""The event log on SQLite, for one engine on one machine. Above: `session`. Below: `sqlite3`."""

import asyncio
import os
import queue
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from brain.engine.log import queries
from brain.engine.log.protocol import (
    PAGE_BYTES,
    Append,
    EventLog,
    EventPage,
    LogUnavailable,
    SessionPage,
    SessionRecord,
    StaleOwner,
    StoredEvent,
)
from brain.engine.log.sqlite_file import LogCannotOpen, connect_reader, connect_writer, lock
from brain.engine.log.sqlite_writer import Writer
from brain_core.session import SessionConfig, Status
from brain_core.usage import Usage

__all__ = ["LogCannotOpen", "open_sqlite"]

_READERS = 2
_Q = queries.load()
_T = TypeVar("_T")
_encode = msgspec.json.Encoder().encode
_config = msgspec.json.Decoder(SessionConfig).decode
_usage = msgspec.json.Decoder(Usage).decode


async def open_sqlite(path: Path) -> EventLog:
    """Open the log at a path, making it if it isn't there. Raises: LogCannotOpen."""
    held = await asyncio.to_thread(lock, path)
    try:
        connection = await asyncio.to_thread(connect_writer, path)
    except LogCannotOpen:
        os.close(held)
        raise
    return SqliteLog(path, held, Writer(connection))


class SqliteLog:
    """Implements `EventLog`."""

    def __init__(self, path: Path, held: int, writer: Writer) -> None:
        self._held = held
        self._writer = writer
        self._pool = ThreadPoolExecutor(_READERS, thread_name_prefix="brain-log-reader")
        self._readers: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()
        for _ in range(_READERS):
            self._readers.put(connect_reader(path))

    def create(self, record: SessionRecord, event: StoredEvent) -> Awaitable[int]:
        row = (
            record.id,
            record.tenant_id,
            record.harness,
            _encode(record.config),
            bytes(record.metadata),
            record.status,
            record.open,
            record.created_at,
            record.updated_at,
            record.last_seq,
            _encode(record.usage),
        )

        def write(connection: sqlite3.Connection) -> int:
            connection.execute(_Q["create_session"], row)
            connection.execute(_Q["add_event"], (record.id, *event))
            return 1

        return self._writer.submit(write)

    def append(self, append: Append) -> Awaitable[None]:
        session_id, events = append.session_id, append.events
        before, after = events[0].seq - 1, events[-1].seq
        state = (after, append.status, append.open, append.updated_at, _encode(append.usage))
        where = (session_id, append.epoch, before)

        def write(connection: sqlite3.Connection) -> None:
            if not connection.execute(_Q["advance_session"], (*state, *where)).rowcount:
                raise StaleOwner(f"{session_id} isn't at {before}, or isn't this engine's.")
            connection.executemany(_Q["add_event"], [(session_id, *event) for event in events])

        return self._writer.submit(write)

    async def claim(self, session_id: str) -> int | None:
        def write(connection: sqlite3.Connection) -> int | None:
            row = connection.execute(_Q["claim_session"], (session_id,)).fetchone()
            return None if row is None else row[0]

        return await self._writer.submit(write)

    async def delete(self, session_id: str, epoch: int) -> None:
        def write(connection: sqlite3.Connection) -> None:
            if not connection.execute(_Q["delete_session"], (session_id, epoch)).rowcount:
                raise StaleOwner(f"{session_id} isn't there, or isn't this engine's.")

        await self._writer.submit(write)

    async def get(self, session_id: str) -> SessionRecord | None:
        def read(connection: sqlite3.Connection) -> SessionRecord | None:
            row = connection.execute(_Q["get_session"], (session_id,)).fetchone()
            return None if row is None else _record(row)

        return await self._read(read)

    async def list_sessions(
        self, tenant_id: str, limit: int, cursor: str | None, status: Status | None
    ) -> SessionPage:
        wanted = {"tenant_id": tenant_id, "cursor": cursor, "status": status, "limit": limit + 1}

        def read(connection: sqlite3.Connection) -> SessionPage:
            rows = connection.execute(_Q["list_sessions"], wanted).fetchall()
            sessions = [_record(row) for row in rows[:limit]]
            return SessionPage(sessions, sessions[-1].id if len(rows) > limit else None)

        return await self._read(read)

    async def read(
        self, session_id: str, after: int, limit: int, max_bytes: int = PAGE_BYTES
    ) -> EventPage:
        def read(connection: sqlite3.Connection) -> EventPage:
            rows = connection.execute(_Q["read_events"], (session_id, after, limit + 1))
            return _page(rows, limit, max_bytes)

        return await self._read(read)

    async def open_sessions(self) -> Sequence[str]:
        def read(connection: sqlite3.Connection) -> list[str]:
            return [row[0] for row in connection.execute(_Q["open_sessions"])]

        return await self._read(read)

    async def ping(self) -> None:
        await self._read(lambda connection: connection.execute(_Q["ping"]).fetchone())
        await self._writer.submit(lambda _: None)

    async def close(self) -> None:
        self._pool.shutdown(wait=True)
        while not self._readers.empty():
            self._readers.get().close()
        # The writer goes last: the last connection to close folds the WAL into the database.
        await self._writer.close()
        os.close(self._held)

    async def _read(self, read: Callable[[sqlite3.Connection], _T]) -> _T:
        def run() -> _T:
            connection = self._readers.get()
            try:
                return read(connection)
            except sqlite3.Error as error:
                raise LogUnavailable(f"The log can't be read: {error}.") from error
            finally:
                self._readers.put(connection)

        return await asyncio.get_running_loop().run_in_executor(self._pool, run)


def _page(rows: sqlite3.Cursor, limit: int, max_bytes: int) -> EventPage:
    events: list[StoredEvent] = []
    size = 0
    for row in rows:
        event = StoredEvent(*row)
        size += len(event.body)
        if len(events) == limit or (events and size > max_bytes):
            return EventPage(events, has_more=True)
        events.append(event)
    return EventPage(events, has_more=False)


def _record(row: tuple[Any, ...]) -> SessionRecord:
    return SessionRecord(
        id=row[0],
        tenant_id=row[1],
        harness=row[2],
        config=_config(row[3]),
        metadata=Raw(row[4]),
        status=row[5],
        open=bool(row[6]),
        created_at=row[7],
        updated_at=row[8],
        last_seq=row[9],
        usage=_usage(row[10]),
    )
