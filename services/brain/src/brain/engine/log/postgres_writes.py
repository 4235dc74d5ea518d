"""What is written: sessions and events by the dozen, everything else by itself. Above: `postgres`.

Below: `postgres_lane`, which calls what is here.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from brain.engine.log import queries
from brain.engine.log.postgres_connections import Connection
from brain.engine.log.postgres_lane import Operation, Write
from brain.engine.log.postgres_lease import EngineLease
from brain.engine.log.protocol import (
    Append,
    KeptAnswer,
    KeyTaken,
    OwnedElsewhere,
    SessionRecord,
    StaleOwner,
    StoredEvent,
)

ERASED_AT_ONCE = 1000
_DAY = len("2026-12-01")
_Q = queries.load("postgres_queries.sql")
_encode = msgspec.json.Encoder().encode


class Creates:
    """Adds sessions; `content` is a record, its first event, and an answer or None."""

    def __init__(self, lease: EngineLease) -> None:
        self._lease = lease

    def joins(self, writes: Sequence[Write], write: Write) -> bool:
        return all(each.session_id != write.session_id for each in writes)

    async def run(self, connection: Connection, writes: Sequence[Write], *, again: bool) -> None:
        owner = self._lease.engine_id
        answers = any(write.content[2] is not None for write in writes)
        rows = [_session_row(*write.content, answers=answers) for write in writes]
        query = _Q["create_sessions_with_answers" if answers else "create_sessions"]
        columns = zip(*rows, strict=True)
        made = {row[0] for row in await connection.fetch(query, owner, *columns)}
        if again and len(made) < len(writes):
            wanted = [write.session_id for write in writes]
            made |= {row[0] for row in await connection.fetch(_Q["created"], owner, wanted)}
        for write in writes:
            if write.session_id in made:
                write.result, write.error = 1, None
            elif write.content[2] is not None:
                write.error = KeyTaken()
            else:
                write.error = StaleOwner(f"There is a session {write.session_id} already.")


class Appends:
    """Adds events; `content` is an `Append`. Those of a session that follow each other are one."""

    def __init__(self, lease: EngineLease) -> None:
        self._lease = lease

    def joins(self, writes: Sequence[Write], write: Write) -> bool:
        for before in reversed(writes):
            if before.session_id == write.session_id:
                last, this = before.content, write.content
                follows = this.events[0].seq == last.events[-1].seq + 1
                return follows and this.epoch == last.epoch
        return True

    async def run(self, connection: Connection, writes: Sequence[Write], *, again: bool) -> None:
        sessions: dict[str, list[Write]] = {}
        for write in writes:
            sessions.setdefault(write.session_id, []).append(write)
        for group in await self._refused(connection, list(sessions.values()), again=again):
            for write in group:
                if len(group) == 1:
                    write.error = _stale(write.content)
                else:  # the first may be wrong, and what follows it right
                    await self.run(connection, [write], again=again)

    async def _refused(
        self, connection: Connection, groups: list[list[Write]], *, again: bool
    ) -> list[list[Write]]:
        """Write each session's events at once; gives those that were refused."""
        values = _values([[write.content for write in group] for group in groups])
        query = _Q["append_with_more" if len(values) > 12 else "append"]
        rows = await connection.fetch(query, self._lease.engine_id, *values)
        done = {row[0] for row in rows}
        if again and len(done) < len(groups):
            ids, epochs, _, lasts = values[:4]
            done |= {row[0] for row in await connection.fetch(_Q["appended"], ids, epochs, lasts)}
        return [group for place, group in enumerate(groups, start=1) if place not in done]


def _stale(append: Append) -> StaleOwner:
    before = append.events[0].seq - 1
    return StaleOwner(f"{append.session_id} isn't at {before}, or isn't this engine's.")


def _session_row(
    record: SessionRecord, event: StoredEvent, answer: KeptAnswer | None, *, answers: bool
) -> tuple[Any, ...]:
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
        _encode(record.config),
        bytes(record.metadata),
        *event,
    )
    if not answers:
        return row
    if answer is None:
        return (*row, None, None, None, None, None)
    kept = (answer.key, answer.fingerprint, answer.answer, answer.kept_at, answer.kept_until)
    return (*row, *kept)


def _values(groups: list[list[Append]]) -> list[list[Any]]:
    """The columns of the sessions, of the events, and of what was used and answered, if any was."""
    numbered = list(enumerate(groups, start=1))
    events = [(n, event) for n, group in numbered for append in group for event in append.events]
    appends = [(n, append) for n, group in numbered for append in group]
    return [
        [group[0].session_id for group in groups],
        [group[0].epoch for group in groups],
        [group[0].events[0].seq - 1 for group in groups],
        [group[-1].events[-1].seq for group in groups],
        [group[-1].status for group in groups],
        [group[-1].open for group in groups],
        [group[-1].updated_at for group in groups],
        [_encode(group[-1].usage) for group in groups],
        [n for n, _ in events],
        [event.seq for _, event in events],
        [event.type for _, event in events],
        [event.body for _, event in events],
        *_more(appends),
    ]


def _more(appends: list[tuple[int, Append]]) -> list[list[Any]]:
    """The columns of what was used and of what was answered; none if there is nothing of both."""
    used = [
        (n, each.updated_at[:_DAY], each.used.model, *msgspec.structs.astuple(each.used.usage))
        for n, each in appends
        if each.used is not None
    ]
    kept = [(n, *msgspec.structs.astuple(a)) for n, each in appends for a in each.answers]
    if not used and not kept:
        return []
    return [*_columns(used, 9), *_columns(kept, 8)]


def _columns(rows: list[tuple[Any, ...]], width: int) -> list[list[Any]]:
    return [[row[at] for row in rows] for at in range(width)]


def refuse(session_id: str) -> Operation:
    """Refuse an append whose events don't follow each other, when its turn has come."""

    async def write(_connection: Connection, _again: bool) -> None:
        raise StaleOwner(f"The events for {session_id} don't follow each other.")

    return write


def claim(session_id: str, lease: EngineLease) -> Operation:
    """Own a session unless an engine that is at work does; gives the epoch, the owner or None."""

    async def write(connection: Connection, _again: bool) -> int | OwnedElsewhere | None:
        while True:
            found = await connection.fetchrow(_Q["owner_of"], session_id)
            if found is None:
                return None
            epoch, owner, address = found
            if address is not None and owner != lease.engine_id:
                return OwnedElsewhere(address)
            claimed = await connection.fetchval(_Q["claim"], session_id, epoch, lease.engine_id)
            if claimed is not None:
                return claimed

    return write


def release(session_id: str, epoch: int, lease: EngineLease) -> Operation:
    """Let a session go, if it is this engine's."""

    async def write(connection: Connection, _again: bool) -> None:
        await connection.execute(_Q["release"], session_id, epoch, lease.engine_id)

    return write


def remove(session_id: str, epoch: int, lease: EngineLease) -> Operation:
    """Take a session away, if the caller owns it, and plan to erase its events."""

    async def write(connection: Connection, again: bool) -> None:
        values = (session_id, epoch, lease.engine_id)
        removed = await connection.fetchval(_Q["remove_session"], *values)
        gone = again and await connection.fetchrow(_Q["owner_of"], session_id) is None
        if removed is None and not gone:
            raise StaleOwner(f"{session_id} isn't there, or isn't this engine's.")

    return write


async def erase_some(connection: Connection, _again: bool) -> bool:
    """Erase some of the events that nobody can see any more; whether there may be others."""
    return await connection.fetchval(_Q["erase_some"], ERASED_AT_ONCE) is not None
