"""The event log on Postgres, for any number of engines. Above: `session`.

Below: `postgres_lane` with `postgres_writes`, `postgres_reads`, `postgres_lease`,
`postgres_schema`.
"""

import asyncio
from collections.abc import Awaitable, Coroutine, Sequence
from contextlib import suppress
from zlib import crc32

import asyncpg
import msgspec

from brain.engine.log import postgres_reads as reads
from brain.engine.log import postgres_writes as writes
from brain.engine.log import queries
from brain.engine.log.opening import LogCannotOpen
from brain.engine.log.postgres_connections import Readers, connect
from brain.engine.log.postgres_errors import FAILED, reason
from brain.engine.log.postgres_lane import Alone, Lane
from brain.engine.log.postgres_lease import EngineLease, LeaseTimes
from brain.engine.log.postgres_schema import prepare
from brain.engine.log.protocol import (
    PAGE_BYTES,
    Append,
    Claimed,
    DailyUsage,
    EventPage,
    KeptAnswer,
    LogUnavailable,
    OwnedElsewhere,
    SessionPage,
    SessionRecord,
    StoredEvent,
)
from brain_core.session import Status

__all__ = ["PostgresLog", "open_postgres"]

LANES = 2
READERS = 4
_Q = queries.load("postgres_queries.sql")
_ALONE = Alone()


async def open_postgres(
    url: str,
    address: str,
    times: LeaseTimes = LeaseTimes(),  # noqa: B008 - it is frozen
) -> "PostgresLog":
    """Open the log at a URL, for an engine whose gRPC can be reached at an address.

    Raises: LogCannotOpen.
    """
    try:
        connection = await connect(url)
    except asyncpg.TargetServerAttributeNotMatched as error:
        raise LogCannotOpen(
            "Postgres only lets this be read: it is a standby, or read-only for this user. Name the"
            " primary in `store`, or all servers: postgresql://HOST,HOST/DATABASE."
        ) from error
    except (*FAILED, ValueError) as error:
        raise LogCannotOpen(_cannot_connect(error)) from error
    try:
        await prepare(connection)
        lease = EngineLease(url, address, times)
        await lease.begin()
    except FAILED as error:
        raise LogCannotOpen(_cannot_connect(error)) from error
    finally:
        connection.terminate()
    return PostgresLog(url, lease)


def _cannot_connect(error: BaseException) -> str:
    if isinstance(error, asyncpg.InvalidAuthorizationSpecificationError):
        return "Postgres doesn't know the user of `store`, or its password is wrong."
    if isinstance(error, asyncpg.InvalidCatalogNameError):
        return "Postgres has no such database as `store` names. Make it (CREATE DATABASE …)."
    return f"Postgres can't be used: {reason(error)}. See that it runs, and that `store` is right."


class PostgresLog:
    """Implements `EventLog`."""

    shared = True

    def __init__(self, url: str, lease: EngineLease) -> None:
        self._lease = lease
        self._lanes = [Lane(url) for _ in range(LANES)]
        self._erasing = Lane(url)
        self._readers = Readers(url, READERS)
        self._creates = writes.Creates(lease)
        self._appends = writes.Appends(lease)
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self._in_background(self._go_on_erasing())

    def create(
        self, record: SessionRecord, event: StoredEvent, answer: KeptAnswer | None = None
    ) -> Awaitable[int]:
        size = len(event.body) + len(bytes(record.metadata))
        return self._lane(record.id).submit(record.id, self._creates, (record, event, answer), size)

    def append(self, append: Append) -> Awaitable[None]:
        session_id, events = append.session_id, append.events
        first = events[0].seq
        if [event.seq for event in events] != list(range(first, first + len(events))):
            return self._lane(session_id).submit(session_id, _ALONE, writes.refuse(session_id))
        size = sum(len(event.body) for event in events)
        return self._lane(session_id).submit(session_id, self._appends, append, size)

    async def claim(self, session_id: str) -> int | OwnedElsewhere | None:
        operation = writes.claim(session_id, self._lease)
        return await self._lane(session_id).submit(session_id, _ALONE, operation)

    async def claim_open(self, limit: int) -> Sequence[Claimed]:
        if self._lease.steady():
            await self._readers.fetch(_Q["end_lapsed_leases"], self._lease.engine_id)
        found = await self._readers.fetch(_Q["orphans"], limit)
        if not found:
            return ()
        ids, epochs = [row[0] for row in found], [row[1] for row in found]
        wanted = (ids, epochs, self._lease.engine_id)
        claimed = await self._readers.fetch(_Q["claim_orphans"], *wanted)
        return sorted(Claimed(*row) for row in claimed)

    async def release(self, session_id: str, epoch: int) -> None:
        operation = writes.release(session_id, epoch, self._lease)
        await self._lane(session_id).submit(session_id, _ALONE, operation)

    async def owner(self, session_id: str) -> str | None:
        return await reads.owner(self._readers, session_id, self._lease.engine_id)

    async def lost(self, owned: Sequence[Claimed]) -> Sequence[str]:
        ids, epochs = [each.session_id for each in owned], [each.epoch for each in owned]
        engine_id = self._lease.engine_id
        rows = await self._readers.fetch(_Q["lost"], ids, epochs, engine_id)
        if not rows:
            self._lease.nothing_lost(engine_id)
        return [row[0] for row in rows]

    def lease_ends(self) -> float:
        return self._lease.ends()

    async def delete(self, session_id: str, epoch: int) -> None:
        await asyncio.shield(self._in_background(self._delete(session_id, epoch)))

    async def get(self, session_id: str) -> SessionRecord | None:
        return await reads.session(self._readers, session_id)

    async def list_sessions(
        self, tenant_id: str, limit: int, cursor: str | None, status: Status | None
    ) -> SessionPage:
        return await reads.sessions(self._readers, tenant_id, limit, cursor, status)

    async def read(
        self, session_id: str, after: int, limit: int, max_bytes: int = PAGE_BYTES
    ) -> EventPage:
        return await reads.events(self._readers, session_id, after, limit, max_bytes)

    async def closed_before(self, moment: str, limit: int) -> Sequence[str]:
        return await reads.closed_before(self._readers, moment, limit)

    async def usage(
        self, tenant_id: str, from_day: str | None, to_day: str | None
    ) -> Sequence[DailyUsage]:
        return await reads.usage(self._readers, tenant_id, from_day, to_day)

    async def answered(self, tenant_id: str, key: str) -> KeptAnswer | None:
        return await reads.answered(self._readers, tenant_id, key)

    async def keep(self, answer: KeptAnswer) -> None:
        await self._readers.fetch(_Q["keep_answer"], *msgspec.structs.astuple(answer))

    async def drop_answers(self, now: str, limit: int) -> int:
        return len(await self._readers.fetch(_Q["drop_answers"], now, limit))

    async def ping(self) -> None:
        await self._readers.fetch(_Q["look"])
        await self._lease.renew()

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._tasks:
            await asyncio.wait(self._tasks)
        await asyncio.gather(*(lane.close() for lane in (*self._lanes, self._erasing)))
        await self._lease.end()
        await self._readers.close()

    def _lane(self, session_id: str) -> Lane:
        return self._lanes[crc32(session_id.encode()) % LANES]

    async def _delete(self, session_id: str, epoch: int) -> None:
        operation = writes.remove(session_id, epoch, self._lease)
        await self._lane(session_id).submit(session_id, _ALONE, operation)
        await self._erase()

    async def _erase(self) -> None:
        """Erase all events of deleted sessions, in steps, so that no statement takes long."""
        while await self._erasing.submit("", _ALONE, writes.erase_some):
            pass

    async def _go_on_erasing(self) -> None:
        """Erase what a process that was killed has left; if that fails, the next delete tries."""
        with suppress(LogUnavailable):
            await self._erase()

    def _in_background(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
