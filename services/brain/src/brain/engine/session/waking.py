"""Waking a session: its log, read once, becomes its state, its agent and its pen.

Above: `manager`. Below: `EventLog`, the folds.
"""

from collections.abc import AsyncIterator, Mapping

from msgspec import Struct

from brain.engine.harness.protocol import Harness
from brain.engine.log.protocol import EventLog, LogUnavailable, StoredEvent
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


async def wake(parts: Parts, tenant_id: str, session_id: str, harness: str) -> SessionActor | None:
    """Own a session and read it; None if it isn't there any more. Raises: LogUnavailable."""
    epoch = await parts.log.claim(session_id)
    if epoch is None:
        return None
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
