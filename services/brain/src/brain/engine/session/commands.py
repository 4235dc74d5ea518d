"""What clients tell sessions to do. Above: `servicer`. Below: `manager`, `once`.

Every method takes the tenant it acts for; another tenant's session is as good as none. Those with
an `attempt` take effect once for its key. Raises, all of them: Elsewhere, LogUnavailable.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec
from msgspec import Raw

from brain.engine.log.protocol import KeptAnswer, SessionRecord
from brain.engine.session.actor import SessionActor
from brain.engine.session.answers import Accepted, Attempt, Compacted, Interrupted
from brain.engine.session.creation import Creation, as_made
from brain.engine.session.limits import content_violations
from brain.engine.session.manager import SessionManager
from brain.engine.session.once import Once
from brain.engine.session.refused import Refused, session_deleted, wrong_content
from brain.engine.session.state import WaitingMessage
from brain.engine.session.waking import Parts
from brain_core.content import UserBlock
from brain_core.session import Delivery, SessionConfig

_T = TypeVar("_T")


class Commands:
    """The commands, to the sessions of one engine."""

    def __init__(
        self, parts: Parts, manager: SessionManager, creation: Creation, once: Once
    ) -> None:
        self._parts = parts
        self._manager = manager
        self._creation = creation
        self._once = once

    async def create(
        self,
        tenant_id: str,
        harness: str,
        config: SessionConfig,
        metadata: Raw,
        attempt: Attempt | None = None,
    ) -> SessionRecord | Refused:
        """Make a session; it is durable when this returns."""

        async def work() -> SessionRecord | Refused:
            earlier = await self._once.earlier(attempt)
            if isinstance(earlier, KeptAnswer):
                record = await self._manager.get(tenant_id, earlier.session_id)
                return session_deleted() if isinstance(record, Refused) else as_made(record)
            return earlier or await self._create(tenant_id, harness, config, metadata, attempt)

        return await self._once.run(attempt, work)

    async def send(
        self,
        tenant_id: str,
        session_id: str,
        content: tuple[UserBlock, ...],
        delivery: Delivery,
        traceparent: str | None,
        attempt: Attempt | None = None,
    ) -> Accepted | Refused:
        """Accept a message; it is durable when this returns."""
        violations = tuple(content_violations(content))
        if violations:
            return wrong_content(violations)
        return await self._act(
            (tenant_id, session_id),
            attempt,
            lambda actor: actor.send(content, delivery, traceparent, attempt),
            _reader(Accepted),
        )

    async def queued(self, tenant_id: str, session_id: str) -> Sequence[WaitingMessage] | Refused:
        """The messages that wait."""
        actor = await self._manager.find(tenant_id, session_id)
        return actor if isinstance(actor, Refused) else actor.queued()

    async def withdraw(self, tenant_id: str, session_id: str, message_id: str) -> Refused | None:
        """Take back a message that waits."""
        actor = await self._manager.find(tenant_id, session_id)
        return actor if isinstance(actor, Refused) else await actor.withdraw(message_id)

    async def interrupt(
        self, tenant_id: str, session_id: str, *, keep_queue: bool, attempt: Attempt | None = None
    ) -> Interrupted | Refused:
        """End the running turn."""
        return await self._act(
            (tenant_id, session_id),
            attempt,
            lambda actor: actor.interrupt(keep_queue=keep_queue, attempt=attempt),
            _reader(Interrupted),
        )

    async def compact(
        self, tenant_id: str, session_id: str, attempt: Attempt | None = None
    ) -> Compacted | Refused:
        """Summarise what the session's model has been told."""
        return await self._act(
            (tenant_id, session_id),
            attempt,
            lambda actor: actor.compact(attempt),
            _reader(Compacted),
        )

    async def close(
        self, tenant_id: str, session_id: str, attempt: Attempt | None = None
    ) -> SessionRecord | Refused:
        """End the session. A closed one changes no more, so it is its own answer."""

        async def close(actor: SessionActor) -> SessionRecord | Refused:
            await actor.close()
            await actor.journal.keep(attempt, None)
            self._parts.fanout.end(session_id, "closed")
            return await self._manager.get(tenant_id, session_id)

        async def closed(_: KeptAnswer) -> SessionRecord | Refused:
            return await self._manager.get(tenant_id, session_id)

        return await self._act((tenant_id, session_id), attempt, close, closed)

    async def delete(self, tenant_id: str, session_id: str) -> Refused | None:
        """End the session, then erase it."""
        actor = await self._manager.find(tenant_id, session_id)
        if isinstance(actor, Refused):
            return actor
        await actor.close()
        await self._parts.log.delete(session_id, actor.journal.epoch)
        self._manager.erased(session_id)
        return None

    async def _create(
        self,
        tenant_id: str,
        harness: str,
        config: SessionConfig,
        metadata: Raw,
        attempt: Attempt | None,
    ) -> SessionRecord | Refused:
        new = self._creation.make(tenant_id, harness, config, metadata)
        if isinstance(new, Refused):
            return new
        kept = attempt and attempt.kept(new.record.id, None, self._parts.clock.now())
        self._manager.take_in(new, await self._parts.log.create(new.record, new.first, kept))
        return new.record

    async def _act(
        self,
        session: tuple[str, str],
        attempt: Attempt | None,
        act: Callable[[SessionActor], Awaitable[_T | Refused]],
        again: Callable[[KeptAnswer], Awaitable[_T | Refused]],
    ) -> _T | Refused:
        """Let a session do something, or answer as an earlier attempt was answered."""

        async def work() -> _T | Refused:
            actor = await self._manager.find(*session)
            if isinstance(actor, Refused):
                return actor
            # Asked only now: as the session's owner we know that nobody else can still write.
            earlier = await self._once.earlier(attempt)
            if isinstance(earlier, KeptAnswer):
                return await again(earlier)
            return earlier or await act(actor)

        return await self._once.run(attempt, work)


def _reader(kind: type[_T]) -> Callable[[KeptAnswer], Awaitable[_T]]:
    """Reads answers that the log has kept."""

    async def read(kept: KeptAnswer) -> _T:
        return msgspec.json.decode(kept.answer, type=kind)

    return read
