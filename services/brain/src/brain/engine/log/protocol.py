"""What every event log can do. Above: `session`. Below: SQLite or Postgres.

A log is the only thing that outlives a process. One engine owns a session at a time, by an
epoch; an append by anyone else changes nothing and raises `StaleOwner`.

Where several engines share a log, each keeps a lease on it, by the store's clock. What it owns
stays its own for as long as the lease holds; once it has lapsed, others may take the session over,
which raises the epoch.
"""

from collections.abc import Awaitable, Sequence
from typing import NamedTuple, Protocol

from msgspec import Raw, Struct

from brain_core.session import SessionConfig, Status
from brain_core.usage import Usage

PAGE_BYTES = 8 * 1024 * 1024
"""A page of events ends once it has grown to about this size; one larger event is still whole."""


class LogUnavailable(Exception):
    """The log can't be read or written now. Its message is fit for an operator, not a user."""


class StaleOwner(Exception):
    """Another engine owns the session, or it was deleted, or the caller lost count of it."""


class KeyTaken(Exception):
    """Another request has this idempotency key. Nothing was written."""


class OwnedElsewhere(NamedTuple):
    """Another engine owns the session: its address, as edges reach it."""

    address: str


class Claimed(NamedTuple):
    """A session that this engine owns now, by this epoch."""

    session_id: str
    epoch: int


class StoredEvent(NamedTuple):
    """A durable event: its place, its type, and its JSON as `brain_core.events` encoded it."""

    seq: int
    type: str
    body: bytes


class SessionRecord(Struct, frozen=True):
    """A session as the log keeps it beside its events, so that listing needs no events.

    `open` is true while there is work in it: a turn runs or a message is queued.
    Times are RFC 3339 with milliseconds.
    """

    id: str
    tenant_id: str
    harness: str
    config: SessionConfig
    metadata: Raw
    status: Status
    open: bool
    created_at: str
    updated_at: str
    last_seq: int
    usage: Usage


class ModelUsage(NamedTuple):
    """What calls of one model have used; `model` is its full id."""

    model: str
    usage: Usage


class DailyUsage(NamedTuple):
    """What a tenant's calls of one model have used on one day, `2026-12-01`, in UTC."""

    day: str
    model: str
    usage: Usage


class KeptAnswer(Struct, frozen=True):
    """What a request with an idempotency key was answered, and a digest of what it had asked for.

    A key is its tenant's. It may be used anew at `kept_until`. Times are as in a `SessionRecord`.
    """

    tenant_id: str
    key: str
    fingerprint: bytes
    session_id: str
    answer: bytes
    kept_at: str
    kept_until: str


class Append(Struct, frozen=True):
    """Events to add, in order and without a gap, and what the session's record says after them.

    The first event's `seq` is one more than the session's `last_seq`, else the append is stale.
    `used` is what these events tell of, for the tenant's sums on the day of `updated_at`.
    `answers` are kept in the same transaction; one whose key has another answer is not kept.
    """

    session_id: str
    epoch: int
    events: tuple[StoredEvent, ...]
    status: Status
    open: bool
    updated_at: str
    usage: Usage
    used: ModelUsage | None = None
    answers: tuple[KeptAnswer, ...] = ()


class EventPage(NamedTuple):
    """Events after a point, in order; `has_more` if the log held others when it was read."""

    events: list[StoredEvent]
    has_more: bool


class SessionPage(NamedTuple):
    """Sessions, newest first; `next_cursor` is None on the last page."""

    sessions: list[SessionRecord]
    next_cursor: str | None


class EventLog(Protocol):
    """The log. Every method but `append` and `create` only reads, or says what else it does.

    `shared` says whether other engines may use it at the same time.
    """

    shared: bool

    def create(
        self, record: SessionRecord, event: StoredEvent, answer: KeptAnswer | None = None
    ) -> Awaitable[int]:
        """Add a session and its first event, owned by this engine. Gives the epoch.

        An answer is kept in the same transaction. Raises: LogUnavailable, KeyTaken, and then
        nothing was added.
        """
        ...

    def append(self, append: Append) -> Awaitable[None]:
        """Add events. They are on disk when the result arrives.

        Takes its place in the order of writes when it is called, not when it is awaited:
        of two appends called one after the other, the second is committed with or after the
        first and never without it. Raises: StaleOwner, LogUnavailable.
        """
        ...

    async def claim(self, session_id: str) -> int | OwnedElsewhere | None:
        """Make this engine the session's owner, unless another engine is that whose lease holds.

        Gives the new epoch, None if there's no session.
        """
        ...

    async def claim_open(self, limit: int) -> Sequence[Claimed]:
        """Make this engine the owner of sessions with work in them that no engine works at.

        Those are the sessions that belong to nobody, or to an engine whose lease has lapsed. Gives
        at most `limit`, oldest first; none if there are no others.
        """
        ...

    async def release(self, session_id: str, epoch: int) -> None:
        """Let a session go, so that any engine may claim it. Does nothing to what isn't ours."""
        ...

    async def owner(self, session_id: str) -> str | None:
        """The address of the other engine that owns a session, while its lease holds."""
        ...

    async def lost(self, owned: Sequence[Claimed]) -> Sequence[str]:
        """Ids of those sessions which this engine doesn't own by that epoch any more.

        A lease that was lost holds again only once this has found none. Raises: LogUnavailable.
        """
        ...

    def lease_ends(self) -> float:
        """Until when, as `time.monotonic` counts, nobody can have taken over what we own.

        Past that nothing may be begun that the world would notice.
        """
        ...

    async def get(self, session_id: str) -> SessionRecord | None:
        """The session's record, or None."""
        ...

    async def list_sessions(
        self, tenant_id: str, limit: int, cursor: str | None, status: Status | None
    ) -> SessionPage:
        """A tenant's sessions, newest first. `cursor` is the id of the last one seen."""
        ...

    async def read(
        self, session_id: str, after: int, limit: int, max_bytes: int = PAGE_BYTES
    ) -> EventPage:
        """Events with a `seq` greater than `after`. Empty for a session that isn't there."""
        ...

    async def closed_before(self, moment: str, limit: int) -> Sequence[str]:
        """Ids of closed sessions in which nothing has happened since, oldest first."""
        ...

    async def usage(
        self, tenant_id: str, from_day: str | None, to_day: str | None
    ) -> Sequence[DailyUsage]:
        """A tenant's sums, by day and model, both days included. Deleted sessions count too."""
        ...

    async def answered(self, tenant_id: str, key: str) -> KeptAnswer | None:
        """The answer that is kept for a key, even if its time is over; None if there's none."""
        ...

    async def keep(self, answer: KeptAnswer) -> None:
        """Keep the answer to a request that wrote nothing, unless its key has another one."""
        ...

    async def drop_answers(self, now: str, limit: int) -> int:
        """Forget at most so many answers whose time is over; gives their number."""
        ...

    async def delete(self, session_id: str, epoch: int) -> None:
        """Erase a session and its events. Raises: StaleOwner, LogUnavailable."""
        ...

    async def ping(self) -> None:
        """Return if the log can be read and written. Raises: LogUnavailable."""
        ...

    async def close(self) -> None:
        """Finish the writes that were asked for, then let go of everything."""
        ...
