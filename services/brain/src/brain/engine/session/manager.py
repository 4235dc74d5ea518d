"""Finds the actor of a session, waking it if need be, and lets it rest. Above: `servicer`.

Every method takes the tenant it acts for; another tenant's session is as good as none.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeVar

import structlog

from brain.engine.log.protocol import (
    Claimed,
    DailyUsage,
    EventPage,
    LogUnavailable,
    SessionPage,
    SessionRecord,
    StaleOwner,
)
from brain.engine.session.actor import SessionActor
from brain.engine.session.creation import NewSession
from brain.engine.session.fanout import Position
from brain.engine.session.once import Once
from brain.engine.session.refused import Refused, no_session
from brain.engine.session.waking import Elsewhere, Parts, build, wake
from brain_core.session import Status

_T = TypeVar("_T")
_log = structlog.get_logger(__name__)
_ERASED_AT_ONCE = 100
_CLAIMED_AT_ONCE = 100


class SessionManager:
    """The sessions of one engine. A session that rests is in the log only."""

    def __init__(self, parts: Parts, once: Once) -> None:
        self._parts = parts
        self._once = once
        self._actors: dict[str, SessionActor] = {}
        self._waking: dict[str, asyncio.Task[SessionActor | None]] = {}
        self._used: set[str] = set()
        self._unrecovered: dict[str, int | None] = {}
        self._stopping = False

    def take_in(self, new: NewSession, epoch: int) -> None:
        """A session was made, and is this engine's."""
        record = new.record
        owner = (record.tenant_id, record.id, record.harness)
        self._actors[record.id] = build(self._parts, *owner, epoch, [new.first])
        self._used.add(record.id)

    def erased(self, session_id: str) -> None:
        """A session is in the log no more."""
        self._actors.pop(session_id, None)
        self._parts.fanout.end(session_id, "deleted")

    async def get(self, tenant_id: str, session_id: str) -> SessionRecord | Refused:
        record = await self._parts.log.get(session_id)
        return record if record is not None and record.tenant_id == tenant_id else no_session()

    async def list_sessions(
        self, tenant_id: str, limit: int, cursor: str | None, status: Status | None
    ) -> SessionPage:
        return await self._parts.log.list_sessions(tenant_id, limit, cursor, status)

    async def find(self, tenant_id: str, session_id: str) -> SessionActor | Refused:
        """The session, awake and owned by this engine. Raises: Elsewhere, LogUnavailable."""
        if not self.lease_holds():
            # What is in memory may be of the past: this process may have been stopped for a while.
            await self.look_for_losses()
        actor = self._actors.get(session_id)
        if actor is None or actor.journal.broken:
            record = await self.get(tenant_id, session_id)
            if isinstance(record, Refused):
                return record
            actor = await self._wake(session_id)
        if actor is None or actor.tenant_id != tenant_id:
            return no_session()
        self._used.add(session_id)
        return actor

    async def _erase(self, session_id: str) -> bool:
        """Erase a closed session, unless another engine has it or somebody asks for it now."""
        epoch = await self._parts.log.claim(session_id)
        if not isinstance(epoch, int):
            return False
        self._actors.pop(session_id, None)
        try:
            await self._parts.log.delete(session_id, epoch)
        except StaleOwner:
            return False
        self._parts.fanout.end(session_id, "deleted")
        return True

    async def usage(
        self, tenant_id: str, from_day: str | None, to_day: str | None
    ) -> Sequence[DailyUsage]:
        """What the tenant's model calls have used, by day and model, both days included."""
        return await self._parts.log.usage(tenant_id, from_day, to_day)

    async def events(
        self, tenant_id: str, session_id: str, after: int, limit: int, max_bytes: int
    ) -> EventPage | Refused:
        if not self._known(tenant_id, session_id):
            record = await self.get(tenant_id, session_id)
            if isinstance(record, Refused):
                return record
        return await self._parts.log.read(session_id, after, limit, max_bytes)

    def position_now(self, tenant_id: str, session_id: str) -> Position | None:
        """Where an awake session stands at this very moment."""
        if not self._known(tenant_id, session_id):
            return None
        return self._actors[session_id].journal.position

    async def position(self, tenant_id: str, session_id: str) -> Position | Refused:
        """Where a session stands; whoever joins now is told all that comes after. Raises:

        Elsewhere, LogUnavailable.
        """
        known = self.position_now(tenant_id, session_id)
        if known is not None:
            return known
        record = await self.get(tenant_id, session_id)
        if isinstance(record, Refused):
            return record
        if self._parts.log.shared and record.status != "closed":
            # Its events come by way of its owner; whoever watches it here makes us that.
            actor = await self.find(tenant_id, session_id)
            return actor if isinstance(actor, Refused) else actor.journal.position
        # It may have woken while its record was read: what it says now is newer.
        return self.position_now(tenant_id, session_id) or Position(
            record.status, record.last_seq, not record.open
        )

    async def raise_if_elsewhere(self, session_id: str) -> None:
        """Raises: Elsewhere, if another engine owns the session; LogUnavailable."""
        if session_id not in self._actors:
            owner = await self._parts.log.owner(session_id)
            if owner is not None:
                raise Elsewhere(owner)

    async def recover(self) -> int:
        """Take up the sessions that have work in them and that nobody works at; their number."""
        recovered = 0
        while claimed := await self._parts.log.claim_open(_CLAIMED_AT_ONCE):
            for session_id, epoch in claimed:
                await self._wake_or_log(session_id, epoch)
            recovered += len(claimed)
        return recovered

    def lease_holds(self) -> bool:
        """Whether nobody can have taken over what this engine owns."""
        return time.monotonic() < self._parts.log.lease_ends()

    async def look_for_losses(self) -> None:
        """Let go of the sessions that another engine has taken over."""
        while lost := await self._parts.log.lost(self._owned()):
            for session_id in lost:
                await self._give_up(session_id)

    def _owned(self) -> list[Claimed]:
        return [Claimed(each, actor.journal.epoch) for each, actor in self._actors.items()]

    async def erase_closed_before(self, moment: str) -> int:
        """Erase closed sessions in which nothing has happened since; gives their number."""
        erased, some = 0, 1
        while some:
            found = await self._parts.log.closed_before(moment, _ERASED_AT_ONCE)
            some = sum([await self._erase(session_id) for session_id in found])
            erased += some
        return erased

    async def forget_answers(self) -> None:
        """Forget what requests with an idempotency key were answered long ago."""
        await self._once.forget()

    async def log_is_usable(self) -> bool:
        """Whether the log can be read and written now."""
        try:
            await self._parts.log.ping()
        except LogUnavailable as error:
            _log.error("log_unavailable", error=str(error))
            return False
        return True

    async def mend(self) -> None:
        """Read the sessions anew whose log failed them: their turns must not wait for a caller."""
        unrecovered, self._unrecovered = self._unrecovered, {}
        for session_id, epoch in unrecovered.items():
            await self._wake_or_log(session_id, epoch)
        for session_id, actor in list(self._actors.items()):
            if actor.journal.broken:
                await self._wake_or_log(session_id)

    async def let_rest(self) -> None:
        """Let go of the sessions in which nothing has happened since the last time."""
        used, self._used = self._used, set()
        for session_id, actor in list(self._actors.items()):
            if session_id not in used and actor.resting and not self._must_own(session_id):
                del self._actors[session_id]
                # If that fails it is still this engine's, which wakes it when it is needed.
                with suppress(LogUnavailable):
                    await self._parts.log.release(session_id, actor.journal.epoch)

    def _must_own(self, session_id: str) -> bool:
        return self._parts.log.shared and self._parts.fanout.watched(session_id)

    async def settle(self, seconds: float) -> None:
        """Begin nothing more; calls of tools that are in flight have so long to end."""
        self._stopping = True
        settling = [asyncio.create_task(actor.settle()) for actor in self._actors.values()]
        if settling:
            _, late = await asyncio.wait(settling, timeout=seconds)
            for each in late:
                each.cancel()

    async def stop(self) -> None:
        """Let go of everything as it stands."""
        self._stopping = True
        await asyncio.gather(*(actor.stop() for actor in self._actors.values()))
        await self._once.stop()
        self._actors.clear()

    def _known(self, tenant_id: str, session_id: str) -> bool:
        actor = self._actors.get(session_id)
        if actor is None or actor.tenant_id != tenant_id or actor.journal.broken:
            return False
        return self.lease_holds()

    async def _wake_or_log(self, session_id: str, epoch: int | None = None) -> None:
        try:
            await self._wake(session_id, epoch)
        except Elsewhere as owner:
            _log.info("session_moved", session_id=session_id, owner=owner.address)
        except LogUnavailable as error:
            self._unrecovered[session_id] = epoch
            _log.error("session_not_recovered", session_id=session_id, error=str(error))

    async def _give_up(self, session_id: str) -> None:
        actor = self._actors.pop(session_id, None)
        self._parts.fanout.end(session_id, "moved")
        if actor is not None:
            await actor.stop()

    async def _wake(self, session_id: str, epoch: int | None = None) -> SessionActor | None:
        """Wake a session once, however many ask for it at the same time."""
        task = self._waking.get(session_id)
        if task is None:
            task = asyncio.create_task(self._wake_alone(session_id, epoch))
            self._waking[session_id] = task
            task.add_done_callback(lambda done: self._woken(session_id, done))
        return await asyncio.shield(task)

    def _woken(self, session_id: str, done: "asyncio.Task[SessionActor | None]") -> None:
        self._waking.pop(session_id, None)
        if not done.cancelled():
            done.exception()  # those who asked may all have gone away

    async def _wake_alone(self, session_id: str, epoch: int | None) -> SessionActor | None:
        if self._stopping:
            raise LogUnavailable("The engine is stopping.")
        known = self._actors.get(session_id)
        if known is not None:
            if not known.journal.broken:
                return known
            await known.stop()
        # What a broken one holds is more than the log does: the log is right.
        record = await self._parts.log.get(session_id)
        if record is None:
            self._actors.pop(session_id, None)
            return None
        try:
            actor = await wake(self._parts, record, epoch)
        except Elsewhere:
            await self._give_up(session_id)
            raise
        if actor is not None:
            if known is not None:
                self._tell_of_gap(session_id, known, actor)
            self._actors[session_id] = actor
            self._used.add(session_id)
            actor.resume()
        return actor

    def _tell_of_gap(self, session_id: str, before: SessionActor, now: SessionActor) -> None:
        """Let readers read the log, if it has grown by events that they were never shown.

        They may be of a commit whose answer was lost, or of an engine that owned the session
        meanwhile.
        """
        if now.journal.position.last_seq != before.journal.position.last_seq:
            self._parts.fanout.end(session_id, "moved")
