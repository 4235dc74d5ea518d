"""Starts, drives and ends the turns of one session, one at a time. Above: `actor`.

This is the only place where a turn ends: whatever the harness did, each of its calls has a result
and its last event says how it went.
"""

import asyncio
from collections.abc import Awaitable, Sequence

import structlog

from brain.engine.harness.protocol import INTERNAL_ERROR, Agent
from brain.engine.log.protocol import LogUnavailable, StaleOwner
from brain.engine.model.protocol import Model, Models
from brain.engine.session.answers import Answer, Attempt, Interrupted
from brain.engine.session.journal import Entry, Journal
from brain.engine.session.recovery import recover, unanswered
from brain.engine.session.state import SessionState
from brain.engine.session.turn import RunningCompaction, RunningTurn
from brain.engine.tool import outcome
from brain.engine.tool.protocol import ToolCaller
from brain_core import ids
from brain_core.events import (
    CompactionFailed,
    EventData,
    TurnFailed,
    TurnInterrupted,
    TurnStarted,
)

_log = structlog.get_logger(__name__)


class TurnRunner:
    """The turns of one session, and its compactions between them: one thing at a time.

    While `hold` is set no further turn is started.
    """

    def __init__(
        self,
        owner: tuple[str, str],
        state: SessionState,
        agent: Agent,
        journal: Journal,
        models: Models,
        caller: ToolCaller,
    ) -> None:
        self.hold = False
        self.turn: RunningTurn | None = None
        self.compaction: RunningCompaction | None = None
        self._tenant_id, self._session_id = owner
        self._state = state
        self._agent = agent
        self._journal = journal
        self._models = models
        self._caller = caller
        self._task: asyncio.Task[None] | None = None
        self._traces: dict[str, str] = {}

    def remember_trace(self, message_id: str, traceparent: str) -> None:
        """The turn that this message starts belongs to this trace."""
        self._traces[message_id] = traceparent

    def start(
        self,
        before: Sequence[Entry],
        message_ids: tuple[str, ...],
        answers: Sequence[Answer] = (),
        turn_id: str | None = None,
    ) -> Awaitable[None]:
        """Start a turn that answers messages, in one commit with what goes before it."""
        turn_id = turn_id or ids.turn_id()
        started = TurnStarted(message_ids)
        written = self._journal.append([*before, (turn_id, started)], answers)
        self._spawn(turn_id, started.message_ids, written)
        return written

    def resume(self) -> None:
        """Go on with what the log says is open: once, after the session was read from it."""
        turn = self._state.turn
        if turn is None:
            self._start_next()
            return
        entries: list[Entry] = [(turn.turn_id, event) for event in recover(turn)]
        if isinstance(entries[-1][1], TurnFailed):
            self._append_and_go_on(entries)
        else:
            running = self._spawn(turn.turn_id, turn.message_ids, self._journal.append(entries))
            if self._interrupting():  # what was accepted before the engine died still counts
                running.interrupt.set("message")

    def compact(self, attempt: Attempt | None) -> RunningCompaction:
        """Begin a compaction. Messages that come meanwhile wait until it has ended."""
        owner = (self._tenant_id, self._session_id, None)
        compaction = RunningCompaction(owner, self._state, self._journal, self._model())
        compaction.attempt = attempt
        self.compaction = compaction
        self._task = asyncio.create_task(self._run_compaction(compaction))
        return compaction

    async def settle(self) -> None:
        """Start nothing more; gives control back once no call of a tool is in flight."""
        self.hold = True
        if self.turn is not None:
            self.turn.settle()
            await self.turn.settled.wait()

    async def stop(self) -> None:
        """Let go of the running turn as it stands; it goes on from the log at the next start."""
        self.hold = True
        running = self.turn or self.compaction
        if running is not None:
            running.let_go = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def forget(self) -> None:
        """No turn comes any more."""
        self._caller.forget(self._session_id)

    def _spawn(
        self, turn_id: str, message_ids: Sequence[str], written: Awaitable[None]
    ) -> RunningTurn:
        traces = [self._traces[each] for each in message_ids if each in self._traces]
        self._traces = {
            each: self._traces[each] for each in self._state.waiting.keys() & self._traces
        }
        self.turn = RunningTurn(
            (self._tenant_id, self._session_id, turn_id),
            self._state,
            self._journal,
            self._model(),
            self._caller,
            traces[0] if traces else None,
        )
        self._task = asyncio.create_task(self._run(self.turn, written))
        return self.turn

    async def _run(self, turn: RunningTurn, started: Awaitable[None]) -> None:
        try:
            await started
            ending = await self._drive(turn)
            turn.interrupted = isinstance(ending[-1], TurnInterrupted)
            await self._end(turn, ending)
        except (LogUnavailable, StaleOwner) as error:
            _log.error("turn_lost_its_log", session_id=self._session_id, error=str(error))
        finally:
            turn.settled.set()
            turn.ended.set()

    async def _drive(self, turn: RunningTurn) -> tuple[EventData, ...]:
        """The harness at work. Gives the events that end the turn."""
        try:
            return await self._agent.run(turn)
        except (Exception, asyncio.CancelledError):  # a bug of ours ends the turn, not the session
            self._journal.raise_if_broken()
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # the engine stops: the turn goes on at its next start
            _log.exception("turn_crashed", session_id=self._session_id, turn_id=turn.turn_id)
            return (TurnFailed(INTERNAL_ERROR, turn.spent().turn),)

    async def _run_compaction(self, compaction: RunningCompaction) -> None:
        try:
            compaction.done = await self._agent.compact(compaction)
        except (LogUnavailable, StaleOwner) as error:
            _log.error("compaction_lost_its_log", session_id=self._session_id, error=str(error))
        except Exception:  # noqa: BLE001 - a bug of ours ends the compaction, not the session
            _log.exception("compaction_crashed", session_id=self._session_id)
            compaction.done = CompactionFailed(INTERNAL_ERROR)
        finally:
            self.compaction, self._task = None, None
            compaction.ended.set()
        if not self.hold and not self._journal.broken:
            self._start_next()

    def _model(self) -> Model | None:
        created = self._state.created
        return None if created is None else self._models.find(created.config.model)

    def _end(self, turn: RunningTurn, ending: Sequence[EventData]) -> Awaitable[None]:
        open_turn = self._state.turn
        lost = unanswered(open_turn, outcome.internal_error()) if open_turn else ()
        self.turn, self._task = None, None
        answer = Interrupted(turn.turn_id if turn.interrupted else None)
        return self._append_and_go_on(
            [(turn.turn_id, event) for event in (*lost, *ending)],
            [(attempt, answer) for attempt in turn.asked_to_end],
        )

    def _append_and_go_on(
        self, entries: Sequence[Entry], answers: Sequence[Answer] = ()
    ) -> Awaitable[None]:
        """Append, and in the same commit start the turn of the message that waits, if any."""
        message_ids = () if self.hold else self._next_messages()
        if not message_ids:
            return self._journal.append(entries, answers)
        return self.start(entries, message_ids, answers)

    def _start_next(self) -> None:
        message_ids = self._next_messages()
        if message_ids:
            self.start([], message_ids)

    def _next_messages(self) -> tuple[str, ...]:
        """Those that interrupted go first, and together; the others one by one in their order.

        Had the first of several its own turn, the second would have to end that one too.
        """
        return self._interrupting() or tuple(self._state.waiting)[:1]

    def _interrupting(self) -> tuple[str, ...]:
        waiting = self._state.waiting.values()
        return tuple(each.message_id for each in waiting if each.delivery == "interrupt")
