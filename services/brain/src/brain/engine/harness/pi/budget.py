"""What ends a turn before its next model call. Above: `loop`, `summary`. Below: values only."""

from brain.engine.harness.protocol import TurnPort
from brain_core.events import EventData, TurnCompleted, TurnInterrupted
from brain_core.session import SessionConfig
from brain_core.usage import Usage

_NOTHING = Usage()


def stop_before_call(turn: TurnPort, steps: int, unlogged: Usage = _NOTHING) -> EventData | None:
    """The event that ends the turn after so many steps; None if the model may be called.

    `unlogged` is what has been used and isn't in the log yet.
    """
    used = turn.spent().turn + unlogged
    if turn.interrupt.reason is not None:
        return TurnInterrupted(turn.interrupt.reason, used)
    if steps >= turn.config.max_steps:
        return TurnCompleted("max_steps", used)
    if used_up(turn.config, turn.spent().session + unlogged):
        return TurnCompleted("budget", used)
    return None


def used_up(config: SessionConfig, used: Usage) -> bool:
    """Whether the session has used what it may. What isn't known can't count."""
    budget = config.budget
    if budget is None:
        return False
    tokens = budget.tokens is not None and (used.tokens or 0) >= budget.tokens
    return tokens or (budget.cost_usd is not None and (used.cost_usd or 0.0) >= budget.cost_usd)
