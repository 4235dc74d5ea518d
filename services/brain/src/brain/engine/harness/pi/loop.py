"""The loop: a step, its tool batch, the next step. Above: `session`. Below: `step`, `tool_batch`.

It has no state but the context, which is a fold of the log: a turn that is picked up after a crash
goes on from wherever the log says it stands.
"""

from brain.engine.harness.pi.context import Context
from brain.engine.harness.pi.step import Step, run_step
from brain.engine.harness.pi.tool_batch import calls_of, refuse_batch, run_batch
from brain.engine.harness.protocol import Agent, TurnPort
from brain.engine.model.protocol import Failure
from brain_core.events import (
    AssistantMessage,
    ErrorInfo,
    Event,
    EventData,
    MessagesDelivered,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
)
from brain_core.usage import Usage


class Pi:
    """The `pi` harness."""

    name = "pi"

    def open(self) -> Agent:
        return PiAgent()


class PiAgent:
    """`pi` in one session."""

    def __init__(self) -> None:
        self._context = Context()

    def apply(self, event: Event) -> None:
        self._context.apply(event)

    async def run(self, turn: TurnPort) -> tuple[EventData, ...]:
        while True:
            end = self._stop_before_step(turn)
            if end is not None:
                return (end,)
            step = await run_step(turn, self._context)
            ending = await self._after_step(turn, step)
            if ending:
                return ending

    def _stop_before_step(self, turn: TurnPort) -> EventData | None:
        if turn.interrupt.reason is not None:
            return TurnInterrupted(turn.interrupt.reason)
        if self._context.steps >= turn.config.max_steps:
            return TurnCompleted("max_steps", self._context.usage)
        return None

    async def _after_step(self, turn: TurnPort, step: Step) -> tuple[EventData, ...]:
        """What ends the turn, or nothing if it goes on."""
        message = step.message
        if step.failure is not None:
            return (*_kept(message), _failed(step.failure))
        if message.stop_reason == "interrupted":
            reason = turn.interrupt.reason or "client"
            return (*_kept(message), TurnInterrupted(reason))
        if step.calls:
            await self._run_calls(turn, step)
            return ()
        steers = turn.steers()
        if not steers:
            usage = self._context.usage + message.usage
            return (message, TurnCompleted("end_turn", usage))
        await turn.append(message, MessagesDelivered(steers))
        return ()

    async def _run_calls(self, turn: TurnPort, step: Step) -> None:
        # One commit for the message and its calls: nothing is sent before all of it is durable.
        await turn.append(step.message, *calls_of(step.calls))
        if step.message.stop_reason == "length":
            await refuse_batch(turn, step.calls)
        else:
            await run_batch(turn, step.calls)
        steers = turn.steers()
        if steers and turn.interrupt.reason is None:
            await turn.append(MessagesDelivered(steers))


def _kept(message: AssistantMessage) -> tuple[AssistantMessage, ...]:
    """A broken-off message is kept if anything was said or used."""
    return (message,) if message.content or message.usage != Usage() else ()


def _failed(failure: Failure) -> TurnFailed:
    return TurnFailed(ErrorInfo(failure.code, failure.message))
