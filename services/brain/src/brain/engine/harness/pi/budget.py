"""What ends a turn before its next model call. Above: `loop`, `summary`. Below: values only."""

from brain.engine.harness.pi.context import Context
from brain.engine.harness.protocol import TurnPort
from brain_core.events import EventData, TurnCompleted, TurnInterrupted
from brain_core.session import SessionConfig
from brain_core.usage import Usage


def stop_before_call(turn: TurnPort, context: Context) -> EventData | None:
    """The event that ends the turn now; None if the model may be called."""
    if turn.interrupt.reason is not None:
        return TurnInterrupted(turn.interrupt.reason, turn.spent().turn)
    if context.steps >= turn.config.max_steps:
        return TurnCompleted("max_steps", turn.spent().turn)
    if turn.config.budget is not None and used_up(turn.config, turn.spent().session):
        return TurnCompleted("budget", turn.spent().turn)
    return None


def used_up(config: SessionConfig, used: Usage) -> bool:
    """Whether the session has used what it may. What isn't known can't count."""
    budget = config.budget
    if budget is None:
        return False
    tokens = budget.tokens is not None and (used.tokens or 0) >= budget.tokens
    return tokens or (budget.cost_usd is not None and (used.cost_usd or 0.0) >= budget.cost_usd)
