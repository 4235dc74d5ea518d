"""About how many tokens something has, where no model has counted them. Above: `context`, `cut`.

Four characters are about a token in English text and in code. It is wrong for many other texts,
so whoever compares it with a count by a model brings both to the same scale first.
"""

from collections.abc import Iterable

from brain.engine.model.protocol import Turn
from brain_core.content import AssistantBlock, ImageBlock, TextBlock, ThinkingBlock
from brain_core.session import SessionConfig, ToolSpec

CHARACTERS_PER_TOKEN = 4
_IMAGE_CHARACTERS = 4800


def estimate(turns: Iterable[Turn]) -> int:
    """Tokens of a conversation, each turn rounded up."""
    return sum(_tokens(turn) for turn in turns)


def overhead(config: SessionConfig, tools: Iterable[ToolSpec]) -> int:
    """Tokens of what goes with every request: the system prompt and the tools."""
    characters = len(config.system_prompt or "")
    for tool in tools:
        characters += len(tool.name) + len(tool.description) + len(bytes(tool.input_schema))
    return _rounded(characters)


def _tokens(turn: Turn) -> int:
    return _rounded(sum(map(_characters, turn.content)))


def _characters(block: AssistantBlock | ImageBlock) -> int:
    if isinstance(block, TextBlock):
        return len(block.text)
    if isinstance(block, ImageBlock):
        return _IMAGE_CHARACTERS
    if isinstance(block, ThinkingBlock):
        return len(block.text)
    return len(block.name) + len(bytes(block.arguments))


def _rounded(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)
