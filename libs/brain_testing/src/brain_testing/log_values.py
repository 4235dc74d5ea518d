"""Values for tests of an event log: records, events, appends. Above: `log_cases`, `log_storm`."""

from typing import Any

import msgspec
from msgspec import Raw

from brain.engine.log.protocol import Append, EventLog, KeptAnswer, SessionRecord, StoredEvent
from brain_core import ids
from brain_core.session import Budget, SessionConfig
from brain_core.usage import Usage

NOW = "2026-12-01T09:00:00.000Z"
LATER = "2026-12-01T09:00:01.000Z"


def record(tenant_id: str = "local", session_id: str | None = None) -> SessionRecord:
    """A new session's record."""
    return SessionRecord(
        id=session_id or ids.session_id(),
        tenant_id=tenant_id,
        harness="pi",
        config=SessionConfig("demo/script", ("echo",), "Be brief.", budget=Budget(tokens=5)),
        metadata=Raw(b'{"n":12345678901234567890,"b":1.0,"a":"\xc3\xa9"}'),
        status="idle",
        open=False,
        created_at=NOW,
        updated_at=NOW,
        last_seq=1,
        usage=Usage(),
    )


def event(seq: int, body: bytes = b"{}") -> StoredEvent:
    """An event as the journal encodes it; its content is nothing to a log."""
    return StoredEvent(seq, "message.user", body)


def append(session_id: str, *events: StoredEvent, epoch: int = 1, **changes: Any) -> Append:
    """An append of these events."""
    fields: dict[str, Any] = {
        "status": "running",
        "open": True,
        "updated_at": LATER,
        "usage": Usage(1, 2, cost_usd=0.5),
        **changes,
    }
    return Append(session_id=session_id, epoch=epoch, events=events, **fields)


def answer(key: str, session_id: str, tenant_id: str = "local", **changes: Any) -> KeptAnswer:
    """What is kept of a request with an idempotency key."""
    kept = KeptAnswer(tenant_id, key, b"\0digest", session_id, b'{"seq":2}', NOW, LATER)
    return msgspec.structs.replace(kept, **changes)


async def created(log: EventLog, tenant_id: str = "local") -> str:
    """A session with its first event; its epoch is 1."""
    new = record(tenant_id)
    assert await log.create(new, event(1)) == 1
    return new.id


async def seqs(log: EventLog, session_id: str) -> list[int]:
    """The sequence numbers that the log holds of a session."""
    return [each.seq for each in (await log.read(session_id, 0, 1000)).events]


async def claimed(log: EventLog, session_id: str) -> int:
    """The epoch of a claim, which must succeed."""
    epoch = await log.claim(session_id)
    assert isinstance(epoch, int)
    return epoch
