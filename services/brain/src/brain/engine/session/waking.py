"""Waking a session: its log, read once, becomes its state, its agent and its pen.

Above: `manager`. Below: `EventLog`, the folds.
"""

from collections.abc import AsyncIterator, Mapping

from msgspec import Struct

from brain.engine.harness.protocol import Harness
from brain.engine.log.protocol import (
    EventLog,
    LogUnavailable,
    OwnedElsewhere,
    SessionRecord,
    StoredEvent,
)
from brain.engine.model.protocol import Models
from brain.engine.session.actor import SessionActor
from brain.engine.session.fanout import Fanout
from brain.engine.session.journal import Journal
from brain.engine.session.runner import TurnRunner
from brain.engine.session.state import SessionState
from brain.engine.tool.protocol import ToolCaller
from brain_core import events
from brain_core.clock import Clock

_PAGE = 1000


class Parts(Struct, frozen=True):
    """What every session of an engine shares."""

    log: EventLog
    fanout: Fanout
    clock: Clock
    harnesses: Mapping[str, Harness]
    models: Models
    caller: ToolCaller


class Elsewhere(Exception):
    """Another engine owns the session; `address` is where edges reach it."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.address = address


async def wake(parts: Parts, record: SessionRecord, epoch: int | None) -> SessionActor | None:
    """Own a session and read it; None if it isn't there any more.

    With an epoch it is owned already. Raises: Elsewhere, LogUnavailable.
    """
    claimed = epoch if epoch is not None else await parts.log.claim(record.id)
    if claimed is None:
        return None
    if isinstance(claimed, OwnedElsewhere):
        raise Elsewhere(claimed.address)
    tenant_id, session_id, harness, epoch = record.tenant_id, record.id, record.harness, claimed
    stored = [event async for event in _all_events(parts.log, session_id)]
    return build(parts, tenant_id, session_id, harness, epoch, stored)


def build(
    parts: Parts,
    tenant_id: str,
    session_id: str,
    harness: str,
    epoch: int,
    stored: list[StoredEvent],
) -> SessionActor:
    """The actor of a session with these events. It does nothing until it is told to."""
    kind = parts.harnesses.get(harness)
    if kind is None:
        raise LogUnavailable(
            f"Session {session_id} needs the harness {harness!r}: not in this build."
        )
    state, agent = SessionState(), kind.open()
    for each in stored:
        event = events.decode(each.body)
        state.apply(event)
        agent.apply(event)
    journal = Journal(session_id, epoch, state, agent, parts.log, parts.fanout, parts.clock)
    runner = TurnRunner((tenant_id, session_id), state, agent, journal, parts.models, parts.caller)
    return SessionActor(tenant_id, state, journal, runner)


async def _all_events(log: EventLog, session_id: str) -> AsyncIterator[StoredEvent]:
    after, more = 0, True
    while more:
        page, more = await log.read(session_id, after, _PAGE)
        for event in page:
            yield event
        after = page[-1].seq if page else after
