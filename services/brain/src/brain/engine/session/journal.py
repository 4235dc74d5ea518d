"""The one pen that writes a session's log. Above: `actor`. Below: an `EventLog`, `fanout`.

Events take their numbers, and the folds take them in, when `append` is called; they are shown to
readers once they are durable. So what is decided next always knows of what was decided before,
and nobody outside ever sees what could still be lost.
"""

import asyncio
from collections.abc import Awaitable, Generator, Iterable, Sequence

from msgspec import UNSET, Struct

from brain.engine.harness.protocol import Agent
from brain.engine.log.protocol import (
    Append,
    EventLog,
    KeptAnswer,
    LogUnavailable,
    ModelUsage,
    StoredEvent,
)
from brain.engine.session.answers import Answer, Attempt
from brain.engine.session.fanout import Emitted, Fanout, Position
from brain.engine.session.state import SessionState
from brain_core import events
from brain_core.clock import Clock, rfc3339
from brain_core.events import Event, EventData
from brain_core.usage import Usage

Entry = tuple[str | None, EventData]
"""An event's data, and the turn that it belongs to, if to any."""


class Journal:
    """Appends to one session, under the epoch that this engine owns it by."""

    def __init__(
        self,
        session_id: str,
        epoch: int,
        state: SessionState,
        agent: Agent,
        log: EventLog,
        fanout: Fanout,
        clock: Clock,
    ) -> None:
        self.broken = False
        self.position = _position(state)
        self._session_id = session_id
        self.epoch = epoch
        self._state = state
        self._agent = agent
        self._log = log
        self._fanout = fanout
        self._clock = clock
        self._unwritten = 0

    @property
    def _model(self) -> str:
        created = self._state.created
        assert created is not None, "a session's first event creates it"
        return created.config.model

    def raise_if_broken(self) -> None:
        """Raises: LogUnavailable, if an append has failed."""
        if self.broken:
            raise LogUnavailable("An append to this session failed; it must be read anew.")

    @property
    def settled(self) -> bool:
        """Whether all that was appended is durable."""
        return self._unwritten == 0

    def append(self, entries: Iterable[Entry], answers: Sequence[Answer] = ()) -> Awaitable[None]:
        """Append events, all or none. They are durable, and shown, when the result arrives.

        With them the answers are kept that tell of them.
        Raises: LogUnavailable or StaleOwner, and then this journal is broken for good: what it
        has folded in is more than what the log holds, so the session must be read anew.
        """
        created_at = rfc3339(self._clock.now())
        used: Usage | None = None
        stored: list[StoredEvent] = []
        emitted: list[Emitted] = []
        for turn_id, item in entries:
            event = Event(
                self._state.last_seq + 1, item.type, self._session_id, turn_id, created_at, item
            )
            self._state.apply(event)
            used = _sum(used, events.used(item))
            self._agent.apply(event)
            body = events.encode(event)
            stored.append(StoredEvent(self._state.last_seq, item.type, body))
            emitted.append(Emitted(self._state.last_seq, item.type, body, self._state.idle))
        return self._write(stored, emitted, used, answers)

    def publish(self, turn_id: str, data: EventData) -> None:
        """Show a live-only event to whoever watches now."""
        if not self._fanout.watched(self._session_id):
            return
        now = rfc3339(self._clock.now())
        event = Event(UNSET, data.type, self._session_id, turn_id, now, data)
        emitted = Emitted(0, data.type, events.encode(event), idle=False)
        self._fanout.publish(self._session_id, [emitted])

    async def keep(self, attempt: Attempt | None, answer: Struct | None) -> None:
        """Keep the answer to an attempt that appended nothing."""
        if attempt is not None:
            await self._log.keep(attempt.kept(self._session_id, answer, self._clock.now()))

    def _kept(self, answers: Sequence[Answer]) -> tuple[KeptAnswer, ...]:
        now = self._clock.now()
        return tuple(attempt.kept(self._session_id, answer, now) for attempt, answer in answers)

    def _write(
        self,
        stored: list[StoredEvent],
        emitted: list[Emitted],
        used: Usage | None,
        answers: Sequence[Answer],
    ) -> Awaitable[None]:
        state = self._state
        position = _position(state)
        written = asyncio.ensure_future(
            self._log.append(
                Append(
                    session_id=self._session_id,
                    epoch=self.epoch,
                    events=tuple(stored),
                    status=state.status,
                    open=not state.idle,
                    updated_at=state.updated_at,
                    usage=state.usage,
                    used=None if used is None else ModelUsage(self._model, used),
                    answers=self._kept(answers) if answers else (),
                )
            )
        )
        self._unwritten += 1

        def on_written(done: "asyncio.Future[None]") -> None:
            self._unwritten -= 1
            if done.cancelled() or done.exception() is not None:
                self.broken = True
            elif not self.broken:
                self.position = position
                self._fanout.publish(self._session_id, emitted)

        # Registered before anyone can await: readers are shown events in the order of their
        # numbers, and before whoever appended them goes on.
        written.add_done_callback(on_written)
        return _Written(written)


class _Written(Awaitable[None]):
    """Awaited by as many as want to know. One that goes away takes nothing from the others.

    A single shielded future would not do: whoever is cancelled while waiting cancels what it waits
    for, and the turn that a message starts waits for the same thing as the message's sender.
    """

    def __init__(self, write: "asyncio.Future[None]") -> None:
        self._write = write

    def __await__(self) -> Generator[object, None, None]:
        return asyncio.shield(self._write).__await__()


def _sum(left: Usage | None, right: Usage | None) -> Usage | None:
    if left is None or right is None:
        return right if left is None else left
    return left + right


def _position(state: SessionState) -> Position:
    return Position(state.status, state.last_seq, state.idle)
