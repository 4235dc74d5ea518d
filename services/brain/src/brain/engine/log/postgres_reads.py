"""What is read. Above: `postgres`. Below: `postgres_connections`."""

from collections.abc import Sequence

import msgspec
from msgspec import Raw

from brain.engine.log import queries
from brain.engine.log.postgres_connections import Readers, Row
from brain.engine.log.protocol import (
    DailyUsage,
    EventPage,
    KeptAnswer,
    LogUnavailable,
    SessionPage,
    SessionRecord,
    StoredEvent,
)
from brain_core.session import SessionConfig, Status
from brain_core.usage import Usage

_LAST_SEQ = (1 << 63) - 1
_AFTER_EVERY_ID = "\U0010ffff"
_AFTER_EVERY_DAY = "9999-12-31"
_Q = queries.load("postgres_queries.sql")
_config = msgspec.json.Decoder(SessionConfig).decode
_usage = msgspec.json.Decoder(Usage).decode


async def session(readers: Readers, session_id: str) -> SessionRecord | None:
    """A session's record, or None."""
    rows = await readers.fetch(_Q["get_session"], session_id)
    return _record(rows[0]) if rows else None


async def owner(readers: Readers, session_id: str, engine_id: str) -> str | None:
    """The address of the engine at work that owns a session, None if that is `engine_id`."""
    rows = await readers.fetch(_Q["owner_of"], session_id)
    if not rows:
        return None
    _, owner_id, address = rows[0]
    return None if owner_id == engine_id else address


async def sessions(
    readers: Readers, tenant_id: str, limit: int, cursor: str | None, status: Status | None
) -> SessionPage:
    """A page of a tenant's sessions, newest first."""
    query = _Q["list_running_sessions" if status == "running" else "list_sessions"]
    before = _AFTER_EVERY_ID if cursor is None else cursor
    rows = await readers.fetch(query, tenant_id, before, status, limit + 1)
    page = [_record(row) for row in rows[:limit]]
    return SessionPage(page, page[-1].id if len(rows) > limit else None)


async def events(
    readers: Readers, session_id: str, after: int, limit: int, max_bytes: int
) -> EventPage:
    """A page of a session's events, in order."""
    wanted = (session_id, min(after, _LAST_SEQ), limit, max_bytes)
    rows = await readers.fetch(_Q["read_events"], *wanted)
    page = [StoredEvent(*row) for row in rows if row[2] is not None]
    return EventPage(page, has_more=len(page) < len(rows))


async def answered(readers: Readers, tenant_id: str, key: str) -> KeptAnswer | None:
    """What is kept for an idempotency key, or None."""
    rows = await readers.fetch(_Q["get_answer"], tenant_id, key)
    return KeptAnswer(*rows[0]) if rows else None


async def usage(
    readers: Readers, tenant_id: str, from_day: str | None, to_day: str | None
) -> list[DailyUsage]:
    """A tenant's sums, by day and model."""
    wanted = (tenant_id, from_day or "", to_day or _AFTER_EVERY_DAY)
    rows = await readers.fetch(_Q["read_usage"], *wanted)
    return [DailyUsage(day, model, Usage(*sums)) for day, model, *sums in rows]


async def closed_before(readers: Readers, moment: str, limit: int) -> Sequence[str]:
    """Ids of closed sessions that have not changed since."""
    return [row[0] for row in await readers.fetch(_Q["closed_before"], moment, limit)]


def _record(row: Row) -> SessionRecord:
    try:
        config, used = _config(row[3]), _usage(row[10])
    except msgspec.DecodeError as error:
        raise LogUnavailable(f"The log can't be read: {error}.") from error
    return SessionRecord(
        id=row[0],
        tenant_id=row[1],
        harness=row[2],
        config=config,
        metadata=Raw(row[4]),
        status=row[5],
        open=row[6],
        created_at=row[7],
        updated_at=row[8],
        last_seq=row[9],
        usage=used,
    )
