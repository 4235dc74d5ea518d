"""What is read: each function gives a read for one of the readers. Above: `sqlite`."""

import sqlite3
from contextlib import closing
from typing import Any

import msgspec
from msgspec import Raw

from brain.engine.log import queries
from brain.engine.log.protocol import (
    DailyUsage,
    EventPage,
    KeptAnswer,
    SessionPage,
    SessionRecord,
    StoredEvent,
)
from brain.engine.log.sqlite_readers import Read
from brain_core.session import SessionConfig, Status
from brain_core.usage import Usage

_LAST_SEQ = (1 << 32) - 1
_AFTER_EVERY_ID = "\U0010ffff"
_AFTER_EVERY_DAY = "9999-12-31"
_Q = queries.load()
_config = msgspec.json.Decoder(SessionConfig).decode
_usage = msgspec.json.Decoder(Usage).decode


def session(session_id: str) -> Read[SessionRecord | None]:
    """A session's record, or None."""

    def read(connection: sqlite3.Connection) -> SessionRecord | None:
        row = connection.execute(_Q["get_session"], (session_id,)).fetchone()
        return None if row is None else _record(row)

    return read


def sessions(
    tenant_id: str, limit: int, cursor: str | None, status: Status | None
) -> Read[SessionPage]:
    """A page of a tenant's sessions, newest first."""
    query = _Q["list_running_sessions" if status == "running" else "list_sessions"]
    before = _AFTER_EVERY_ID if cursor is None else cursor
    wanted = {"tenant_id": tenant_id, "before": before, "status": status, "limit": limit + 1}

    def read(connection: sqlite3.Connection) -> SessionPage:
        rows = connection.execute(query, wanted).fetchall()
        page = [_record(row) for row in rows[:limit]]
        return SessionPage(page, page[-1].id if len(rows) > limit else None)

    return read


def events(session_id: str, after: int, limit: int, max_bytes: int) -> Read[EventPage]:
    """A page of a session's events, in order."""
    wanted = {"session_id": session_id, "after": min(after, _LAST_SEQ), "limit": limit + 1}

    def read(connection: sqlite3.Connection) -> EventPage:
        # Closed when the page is full: an open cursor would keep the write-ahead log growing.
        with closing(connection.execute(_Q["read_events"], wanted)) as rows:
            return _page(rows, limit, max_bytes)

    return read


def usage(tenant_id: str, from_day: str | None, to_day: str | None) -> Read[list[DailyUsage]]:
    """A tenant's sums, by day and model."""
    wanted = (tenant_id, from_day or "", to_day or _AFTER_EVERY_DAY)

    def read(connection: sqlite3.Connection) -> list[DailyUsage]:
        rows = connection.execute(_Q["read_usage"], wanted)
        return [DailyUsage(day, model, Usage(*sums)) for day, model, *sums in rows]

    return read


def open_sessions(connection: sqlite3.Connection) -> list[str]:
    """Ids of the sessions with work in them."""
    return [row[0] for row in connection.execute(_Q["open_sessions"])]


def closed_before(moment: str, limit: int) -> Read[list[str]]:
    """Ids of closed sessions that have not changed since."""

    def read(connection: sqlite3.Connection) -> list[str]:
        return [row[0] for row in connection.execute(_Q["closed_before"], (moment, limit))]

    return read


def answered(tenant_id: str, key: str) -> Read[KeptAnswer | None]:
    """What is kept for an idempotency key, or None."""

    def read(connection: sqlite3.Connection) -> KeptAnswer | None:
        row = connection.execute(_Q["get_answer"], (tenant_id, key)).fetchone()
        return None if row is None else KeptAnswer(*row)

    return read


def look(connection: sqlite3.Connection) -> None:
    """Read next to nothing."""
    connection.execute(_Q["look"]).fetchone()


def _page(rows: sqlite3.Cursor, limit: int, max_bytes: int) -> EventPage:
    page: list[StoredEvent] = []
    size = 0
    for row in rows:
        event = StoredEvent(*row)
        size += len(event.body)
        if len(page) == limit or (page and size > max_bytes):
            return EventPage(page, has_more=True)
        page.append(event)
    return EventPage(page, has_more=False)


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
