"""What is written: each function gives an operation for the writer. Above: `sqlite`.

An event's place is its session's number in the upper 32 bits and its `seq` in the lower ones.
"""

import sqlite3

import msgspec

from brain.engine.log import queries
from brain.engine.log.protocol import (
    Append,
    KeptAnswer,
    KeyTaken,
    ModelUsage,
    SessionRecord,
    StaleOwner,
    StoredEvent,
)
from brain.engine.log.sqlite_writer import Operation

ERASED_AT_ONCE = 250
"""So many events are erased in one transaction, so that nobody has to wait for a large session."""

_SEQ_BITS = 32
_DAY = len("2026-12-01")
_Q = queries.load()
_encode = msgspec.json.Encoder().encode


def create(record: SessionRecord, event: StoredEvent, answer: KeptAnswer | None) -> Operation[int]:
    """Add a session and its first event; gives the epoch."""
    row = (
        record.id,
        record.tenant_id,
        record.harness,
        record.status,
        record.open,
        record.created_at,
        record.updated_at,
        record.last_seq,
        _encode(record.usage),
    )
    config, metadata = _encode(record.config), bytes(record.metadata)

    def write(connection: sqlite3.Connection) -> int:
        if answer is not None and not _keep(connection, answer):
            raise KeyTaken
        created = connection.execute(_Q["create_session"], row).fetchone()
        if created is None:
            raise StaleOwner(f"There is a session {record.id} already.")
        number: int = created[0]
        connection.execute(_Q["add_config"], (number, config, metadata))
        _add_events(connection, number, (event,))
        return 1

    return write


def append(append: Append) -> Operation[None]:
    """Add events, if they continue what is there and the caller owns the session."""
    session_id, events = append.session_id, append.events
    before = events[0].seq - 1
    counted = [event.seq for event in events] == list(range(before + 1, before + 1 + len(events)))
    state = (append.status, append.open, append.updated_at, _encode(append.usage))
    values = (events[-1].seq, *state, session_id, append.epoch, before)
    used = None if append.used is None else _sums(append.updated_at[:_DAY], append.used)

    def write(connection: sqlite3.Connection) -> None:
        row = connection.execute(_Q["advance_session"], values).fetchone() if counted else None
        if row is None:
            raise StaleOwner(f"{session_id} isn't at {before}, or isn't this engine's.")
        number, tenant_id = row
        _add_events(connection, number, events)
        if used is not None:
            connection.execute(_Q["add_usage"], (tenant_id, *used))
        for answer in append.answers:
            _keep(connection, answer)

    return write


def keep(answer: KeptAnswer) -> Operation[None]:
    """Keep an answer, unless its key has another one."""

    def write(connection: sqlite3.Connection) -> None:
        _keep(connection, answer)

    return write


def drop_answers(now: str, limit: int) -> Operation[int]:
    """Forget answers whose time is over; gives their number."""

    def write(connection: sqlite3.Connection) -> int:
        return connection.execute(_Q["drop_answers"], (now, limit)).rowcount

    return write


def claim(session_id: str) -> Operation[int | None]:
    """Make every earlier owner stale; gives the new epoch, None if there's no such session."""

    def write(connection: sqlite3.Connection) -> int | None:
        row = connection.execute(_Q["claim_session"], (session_id,)).fetchone()
        return None if row is None else row[0]

    return write


def remove(session_id: str, epoch: int) -> Operation[None]:
    """Take a session away, if the caller owns it, and plan to erase its events."""

    def write(connection: sqlite3.Connection) -> None:
        row = connection.execute(_Q["remove_session"], (session_id, epoch)).fetchone()
        if row is None:
            raise StaleOwner(f"{session_id} isn't there, or isn't this engine's.")
        number, last_seq = row
        connection.execute(_Q["remove_config"], (number,))
        connection.execute(_Q["plan_erasure"], (number, last_seq))

    return write


def erase_some(connection: sqlite3.Connection) -> bool:
    """Erase some of the events that nobody can see any more; whether there may be others."""
    row = connection.execute(_Q["next_erasure"]).fetchone()
    if row is None:
        return False
    number, last_seq = row
    left = max(0, last_seq - ERASED_AT_ONCE)
    erased = (_place(number, left + 1), _place(number, last_seq))
    connection.execute(_Q["erase_events"], erased)
    if left:
        connection.execute(_Q["advance_erasure"], (left, number))
    else:
        connection.execute(_Q["end_erasure"], (number,))
    return True


def beat(connection: sqlite3.Connection) -> None:
    """Write, to find out whether the disk takes it."""
    connection.execute(_Q["beat"])


def nothing(_: sqlite3.Connection) -> None:
    """Write nothing."""


def _add_events(
    connection: sqlite3.Connection, number: int, events: tuple[StoredEvent, ...]
) -> None:
    rows = [(_place(number, event.seq), event.type, event.body) for event in events]
    connection.executemany(_Q["add_event"], rows)


def _keep(connection: sqlite3.Connection, answer: KeptAnswer) -> bool:
    row = msgspec.structs.astuple(answer)
    return connection.execute(_Q["keep_answer"], row).fetchone() is not None


def _sums(day: str, used: ModelUsage) -> tuple[str | int | float | None, ...]:
    return (day, used.model, *msgspec.structs.astuple(used.usage))


def _place(number: int, seq: int) -> int:
    return number << _SEQ_BITS | seq
