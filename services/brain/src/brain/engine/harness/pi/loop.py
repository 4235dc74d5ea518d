"""The loop: a step, its tool batch, the next step. Above: `session`. Below: `step`, `tool_batch`.

It has no state but the context, which is a fold of the log: a turn that is picked up after a crash
goes on from wherever the log says it stands.
"""

from brain.engine.harness.pi.budget import stop_before_call
from brain.engine.harness.pi.compaction import CONTEXT_OVERFLOW, Compactor, Why
from brain.engine.harness.pi.context import Context
from brain.engine.harness.pi.retry import may_retry, wait_to_retry
from brain.engine.harness.pi.step import Step, run_step
from brain.engine.harness.pi.summary import BUDGET, INTERRUPTED
from brain.engine.harness.pi.tool_batch import calls_of, refuse_batch, run_batch
from brain.engine.harness.protocol import Agent, KnownModels, SessionPort, TurnPort
from brain.engine.model.protocol import Failure
from brain_core.clock import Clock
from brain_core.events import (
    AssistantMessage,
    CompactionFailed,
    ContextCompacted,
    ErrorInfo,
    Event,
    EventData,
    MessagesDelivered,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
)
from brain_core.usage import Usage

_Ending = tuple[EventData, ...]
"""The events that end a turn; none if it goes on."""


class Pi:
    """The `pi` harness."""

    name = "pi"

    def __init__(self, known: KnownModels, clock: Clock) -> None:
        self._known = known
        self._clock = clock

    def open(self) -> Agent:
        return PiAgent(self._known, self._clock)


class PiAgent:
    """`pi` in one session."""

    def __init__(self, known: KnownModels, clock: Clock) -> None:
        self._context = Context()
        self._compactor = Compactor(self._context, known, clock)
        self._known = known
        self._clock = clock

    def apply(self, event: Event) -> None:
        self._context.apply(event)

    async def run(self, turn: TurnPort) -> tuple[EventData, ...]:
        running = _Turn(turn, self._context, self._compactor, self._known, self._clock)
        ending: _Ending = ()
        while not ending:
            ending = await running.advance()
        return ending

    async def compact(self, port: SessionPort) -> ContextCompacted | CompactionFailed | None:
        done = await self._compactor.compact(port, "request")
        if done is not None:
            await port.append(done)
        return done


class _Turn:
    """A turn that runs. Each of its methods gives what ends it."""

    def __init__(
        self,
        port: TurnPort,
        context: Context,
        compactor: Compactor,
        known: KnownModels,
        clock: Clock,
    ) -> None:
        self._port = port
        self._context = context
        self._compactor = compactor
        self._known = known
        self._clock = clock
        self._overflowed = False

    async def advance(self) -> _Ending:
        """Do what comes next: end, compact, or call the model and run what it asks for."""
        end = stop_before_call(self._port, self._context.steps)
        if end is not None:
            return (end,)
        steers = self._port.steers()
        if steers:
            await self._port.append(MessagesDelivered(steers))
        if self._compactor.due(self._port):
            return await self._compact("nearly_full")
        step = await run_step(self._port, self._context, self._known)
        if step.failure is not None:
            return await self._after_failure(step.message, step.failure)
        self._overflowed = False
        return await self._after_step(step)

    async def _after_step(self, step: Step) -> _Ending:
        message = step.message
        if message.stop_reason == "interrupted":
            reason = self._port.interrupt.reason or "client"
            return (*_kept(message), TurnInterrupted(reason, self._used(message.usage)))
        if step.calls:
            await self._run_calls(step)
            return ()
        steers = self._port.steers()
        if not steers or self._ends_with(message):
            return (message, TurnCompleted("end_turn", self._used(message.usage)))
        # One commit: an answer alone, with nothing said to it, is not what a model can go on from.
        await self._port.append(message, MessagesDelivered(steers))
        return ()

    def _ends_with(self, message: AssistantMessage) -> bool:
        """Whether no call may follow this one: who steers then is answered by the next turn."""
        steps = self._context.steps + 1
        return stop_before_call(self._port, steps, message.usage) is not None

    async def _run_calls(self, step: Step) -> None:
        # One commit for the message and its calls: nothing is sent before all of it is durable.
        await self._port.append(step.message, *calls_of(step.calls))
        if step.message.stop_reason == "length":
            await refuse_batch(self._port, step.calls)
        else:
            await run_batch(self._port, step.calls)

    async def _after_failure(self, message: AssistantMessage, failure: Failure) -> _Ending:
        said = _kept(message)
        reason = self._port.interrupt.reason
        if reason is not None:
            return (*said, TurnInterrupted(reason, self._used(message.usage)))
        if failure.code == CONTEXT_OVERFLOW and not self._overflowed:
            self._overflowed = True
            if said:
                await self._port.append(*said)
            return await self._compact("overflow")
        if may_retry(failure, self._context.retries):
            attempt = self._context.retries + 1
            await wait_to_retry(self._port, self._clock, attempt, failure, *said)
            return ()
        error = ErrorInfo(failure.code, failure.message)
        return (*said, TurnFailed(error, self._used(message.usage)))

    async def _compact(self, why: Why) -> _Ending:
        done = await self._compactor.compact(self._port, why)
        if isinstance(done, ContextCompacted):
            await self._port.append(done)
            return ()
        if done is None:
            return (TurnFailed(_TOO_LONG, self._used(Usage())),)
        return (done, self._end_of(done.error, self._used(done.usage)))

    def _end_of(self, error: ErrorInfo, used: Usage) -> EventData:
        """How a turn ends whose context could not be compacted."""
        if error.code == INTERRUPTED and self._port.interrupt.reason is not None:
            return TurnInterrupted(self._port.interrupt.reason, used)
        if error.code == BUDGET:
            return TurnCompleted("budget", used)
        return TurnFailed(error, used)

    def _used(self, last: Usage) -> Usage:
        """What the turn has used, with what the log doesn't tell yet."""
        return self._port.spent().turn + last


_TOO_LONG = ErrorInfo(
    CONTEXT_OVERFLOW, "What was said last is too long for the model, and there is nothing before."
)


def _kept(message: AssistantMessage) -> tuple[AssistantMessage, ...]:
    """A broken-off message is kept if anything was said or used."""
    return (message,) if message.content or message.usage != Usage() else ()
