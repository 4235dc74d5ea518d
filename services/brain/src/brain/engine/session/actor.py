"""One session that is awake: takes commands and decides. Above: `manager`. Below: `runner`.

A command decides and appends without giving up control in between, so commands need no queue of
their own: the event loop is the queue. Only then do they wait until it is durable.
"""

import asyncio

from brain.engine.log.protocol import LogUnavailable
from brain.engine.session.answers import Accepted, Attempt, Compacted, Interrupted
from brain.engine.session.journal import Entry, Journal
from brain.engine.session.refused import (
    Refused,
    compaction_failed,
    no_queued_message,
    not_idle,
    nothing_to_compact,
    session_closed,
    turn_running,
)
from brain.engine.session.runner import TurnRunner
from brain.engine.session.state import SessionState, WaitingMessage
from brain.engine.session.turn import RunningCompaction, RunningTurn
from brain_core import ids
from brain_core.content import UserBlock
from brain_core.events import ContextCompacted, MessageWithdrawn, SessionClosed, UserMessage
from brain_core.session import Delivery


class SessionActor:
    """A session in memory. Whoever holds it is its only writer."""

    def __init__(
        self, tenant_id: str, state: SessionState, journal: Journal, runner: TurnRunner
    ) -> None:
        self.tenant_id = tenant_id
        self.state = state
        self.journal = journal
        self._runner = runner
        self._closing: asyncio.Task[None] | None = None

    @property
    def resting(self) -> bool:
        """Whether nothing goes on in it, so that it can be let go and read anew later."""
        return self._unoccupied and self.journal.settled and self._runner.turn is None

    @property
    def _unoccupied(self) -> bool:
        """Whether a message that comes now starts its turn at once."""
        return self.state.idle and self._runner.compaction is None

    async def send(
        self,
        content: tuple[UserBlock, ...],
        delivery: Delivery,
        traceparent: str | None,
        attempt: Attempt | None = None,
    ) -> Accepted | Refused:
        """Accept a message; it is durable when this returns. Its turn needs nobody to wait."""
        if self.state.closed or self._closing is not None:
            return session_closed()
        if delivery == "reject" and not self._unoccupied:
            return turn_running()
        message = UserMessage(ids.message_id(), content, delivery)
        if traceparent:
            self._runner.remember_trace(message.message_id, traceparent)
        if self._unoccupied:
            return await self._begin_turn(message, attempt)
        return await self._enqueue(message, attempt)

    async def interrupt(self, *, keep_queue: bool, attempt: Attempt | None = None) -> Interrupted:
        """End the running turn. Answers once it has ended."""
        turn = self._runner.turn
        if turn is None:
            await self._interrupt_compaction(keep_queue=keep_queue)
            await self.journal.keep(attempt, Interrupted(None))
            return Interrupted(None)
        turn.interrupt.set("client")
        if attempt is not None:
            turn.asked_to_end.append(attempt)
        if not keep_queue and self.state.waiting:
            await self.journal.append(self._withdrawals("interrupt"))
        await self._end_of(turn)
        return Interrupted(turn.turn_id if turn.interrupted else None)

    async def compact(self, attempt: Attempt | None = None) -> Compacted | Refused:
        """Summarise what the model has been told, now. Goes on if nobody waits any more."""
        if self.state.closed or self._closing is not None:
            return session_closed()
        if not self._unoccupied:
            return not_idle()
        compaction = self._runner.compact(attempt)
        await self._end_of(compaction)
        done = compaction.done
        if done is None:
            return nothing_to_compact()
        if isinstance(done, ContextCompacted):
            return Compacted(done.tokens_before, done.tokens_after)
        return compaction_failed(done.error)

    async def close(self) -> None:
        """End the turn, then the session. Again, or at the same time: the same."""
        if self._closing is None and not self.state.closed:
            self._closing = asyncio.create_task(self._close())
        if self._closing is not None:
            await asyncio.shield(self._closing)

    async def withdraw(self, message_id: str) -> Refused | None:
        """Take back a message that waits."""
        if message_id not in self.state.waiting:
            return no_queued_message()
        await self.journal.append([(None, MessageWithdrawn(message_id, "client"))])
        return None

    def queued(self) -> tuple[WaitingMessage, ...]:
        """The messages that wait, in the order in which they were accepted."""
        return tuple(self.state.waiting.values())

    def resume(self) -> None:
        """Go on with what the log says is open."""
        self._runner.resume()

    async def settle(self) -> None:
        """Start nothing more, and wait until no call of a tool is in flight."""
        await self._runner.settle()

    async def stop(self) -> None:
        """Let go of it as it stands; it goes on from the log at the next start."""
        await self._runner.stop()

    async def _begin_turn(self, message: UserMessage, attempt: Attempt | None) -> Accepted:
        seq, turn_id = self.state.last_seq + 1, ids.turn_id()
        accepted = Accepted(message.message_id, seq, turn_id, queued=False)
        answers = [(attempt, accepted)] if attempt is not None else ()
        await self._runner.start([(None, message)], (message.message_id,), answers, turn_id)
        return accepted

    async def _enqueue(self, message: UserMessage, attempt: Attempt | None) -> Accepted:
        turn = self._runner.turn
        steers = turn is not None and message.delivery == "steer"
        turn_id = turn.turn_id if turn and steers else None
        accepted = Accepted(message.message_id, self.state.last_seq + 1, turn_id, queued=True)
        answers = [(attempt, accepted)] if attempt is not None else ()
        written = self.journal.append([(None, message)], answers)
        running = turn or self._runner.compaction
        if running is not None and message.delivery == "interrupt":
            running.interrupt.set("message")
        await written
        return accepted

    async def _close(self) -> None:
        self._runner.hold = True
        running = self._runner.turn or self._runner.compaction
        if running is not None:
            running.interrupt.set("close")
            await self._end_of(running)
        self.journal.raise_if_broken()
        await self.journal.append([*self._withdrawals("close"), (None, SessionClosed())])
        self._runner.forget()

    async def _interrupt_compaction(self, *, keep_queue: bool) -> None:
        compaction = self._runner.compaction
        if compaction is not None:
            compaction.interrupt.set("client")
            if not keep_queue and self.state.waiting:
                await self.journal.append(self._withdrawals("interrupt"))
            await self._end_of(compaction)

    async def _end_of(self, running: RunningTurn | RunningCompaction) -> None:
        """Wait until it has ended. Raises: LogUnavailable, if the engine stops before that."""
        await running.ended.wait()
        self.journal.raise_if_broken()
        if running.let_go:
            raise LogUnavailable("The engine is stopping.")

    def _withdrawals(self, reason: str) -> list[Entry]:
        return [(None, MessageWithdrawn(each, reason)) for each in self.state.waiting]
