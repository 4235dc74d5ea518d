"""Picking up a turn that a crash left open. Above: `actor`. Below: `state`, `tool.outcome`.

Calls that were open may have been sent, so they are never sent again: each gets its result, with an
unknown outcome, and the turn goes on from there.
"""

from brain.engine.session.state import OpenTurn
from brain.engine.tool import outcome
from brain_core.content import ToolResult
from brain_core.events import ErrorInfo, EventData, ToolResulted, TurnFailed, TurnRecovered

MAX_RECOVERIES = 3


def recover(turn: OpenTurn) -> tuple[EventData, ...]:
    """What to append before the turn goes on; ends with `TurnFailed` if it shall not."""
    results = unanswered(turn, outcome.engine_died())
    if turn.recoveries >= MAX_RECOVERIES:
        return (*results, TurnFailed(_limit(), turn.usage))
    return (TurnRecovered(tuple(turn.open_calls), turn.recoveries + 1), *results)


def unanswered(turn: OpenTurn, lost: ToolResult) -> tuple[ToolResulted, ...]:
    """A result for each call that has none."""
    return tuple(
        ToolResulted(
            call_id=call_id,
            name=name,
            content=lost.content,
            is_error=lost.is_error,
            unknown_outcome=lost.unknown_outcome,
            code=lost.code,
        )
        for call_id, name in turn.open_calls.items()
    )


def _limit() -> ErrorInfo:
    return ErrorInfo(
        "recovery_limit",
        f"The engine stopped in this turn {MAX_RECOVERIES + 1} times; the turn was given up.",
    )
