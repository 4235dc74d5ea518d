"""What every provider demands of a conversation, said of Brain's own turns.

Above: `scripted_model`, tests of the context. Below: `brain.engine.model.protocol`.
"""

from collections.abc import Iterator, Sequence

from brain.engine.model.protocol import AssistantTurn, ToolTurn, Turn, UserTurn
from brain_core.content import ImageBlock, TextBlock, ToolCallBlock, UserBlock


def problems_of(turns: Sequence[Turn]) -> list[str]:
    """Everything for which a provider would refuse a request with these turns."""
    return [*_start(turns), *_order(turns), *_contents(turns)]


def _start(turns: Sequence[Turn]) -> Iterator[str]:
    if not turns or not isinstance(turns[0], UserTurn):
        yield "the first turn isn't a user's"
    if turns and isinstance(turns[-1], AssistantTurn):
        yield "the last turn is the assistant's: there is nothing to answer"


def _order(turns: Sequence[Turn]) -> Iterator[str]:
    """Behind each answer stand the results of its calls, in the calls' order, and no others."""
    awaited: list[str] = []
    for place, turn in enumerate(turns):
        if isinstance(turn, ToolTurn):
            if awaited[:1] == [turn.call_id]:
                awaited.pop(0)
            else:
                yield f"turn {place} is the result of {turn.call_id}, and {awaited} are awaited"
        elif awaited:
            yield f"turn {place} stands before the results of {awaited}"
            awaited = []
        if isinstance(turn, AssistantTurn):
            awaited = [block.call_id for block in turn.content if isinstance(block, ToolCallBlock)]
    if awaited:
        yield f"{awaited} have no results"


def _contents(turns: Sequence[Turn]) -> Iterator[str]:
    for place, turn in enumerate(turns):
        if isinstance(turn, AssistantTurn):
            said = [block for block in turn.content if isinstance(block, TextBlock | ToolCallBlock)]
            if not said or any(isinstance(each, TextBlock) and not each.text for each in said):
                yield f"turn {place} is an empty answer"
        elif not turn.content or not all(map(_holds_something, turn.content)):
            yield f"turn {place} has empty content"


def _holds_something(block: UserBlock) -> bool:
    return bool(block.data if isinstance(block, ImageBlock) else block.text)
