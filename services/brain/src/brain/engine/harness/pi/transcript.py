"""A conversation as a text to be summarised. Above: `summary`. Below: `model.protocol`.

As one text, and not as turns, so that the model that reads it doesn't go on with it.
"""

from collections.abc import Iterable

from brain.engine.model.protocol import AssistantTurn, ToolTurn, Turn, UserTurn
from brain_core.content import AssistantBlock, ImageBlock, TextBlock, ThinkingBlock

_LONGEST_RESULT = 2000


def transcript(turns: Iterable[Turn], longest: int) -> str:
    """The conversation in at most about so many characters; what is left out is said."""
    text = "\n\n".join(filter(None, (_told(turn) for turn in turns)))
    return shortened(text, longest)


def shortened(text: str, longest: int) -> str:
    """The text, or its beginning and its end, which says most."""
    if len(text) <= longest:
        return text
    head, tail = longest // 3, longest - longest // 3
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[… {left_out} characters left out …]\n{text[-tail:]}"


def _told(turn: Turn) -> str:
    if isinstance(turn, UserTurn):
        return f"[User] {_blocks(turn.content)}"
    if isinstance(turn, ToolTurn):
        kind = "Error of" if turn.is_error else "Result of"
        return f"[{kind} {turn.name}] {shortened(_blocks(turn.content), _LONGEST_RESULT)}"
    return _answer(turn)


def _answer(turn: AssistantTurn) -> str:
    said = _blocks(turn.content)
    return f"[Assistant] {said}" if said else ""


def _blocks(blocks: Iterable[AssistantBlock | ImageBlock]) -> str:
    return "\n".join(filter(None, map(_block, blocks)))


def _block(block: AssistantBlock | ImageBlock) -> str:
    if isinstance(block, TextBlock):
        return block.text
    if isinstance(block, ImageBlock):
        return f"(an image of type {block.mime_type})"
    if isinstance(block, ThinkingBlock):
        return ""
    arguments = shortened(bytes(block.arguments).decode(), _LONGEST_RESULT)
    return f"(calls {block.name} with {arguments})"
