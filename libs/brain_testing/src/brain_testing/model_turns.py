"""Conversations for tests of model calls, in few words. Above: tests of requests."""

from typing import Any

import msgspec
from msgspec import Raw

from brain.engine.model.protocol import AssistantTurn, ModelRequest, ToolTurn, Turn, UserTurn
from brain_core.content import AssistantBlock, ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock
from brain_core.session import ToolSpec

OWN = "test/m"
PNG = ImageBlock("iVBORw0KGgo=", "image/png")
"""What a PNG begins with, which is all that Brain looks at."""

TOOL = ToolSpec("echo", "Says it again.", Raw(b'{"type":"object"}'))


def asked(*turns: Turn, **fields: Any) -> ModelRequest:
    """A request; without turns the user says `Hi`."""
    return ModelRequest("m", turns or (said("Hi"),), **fields)


def said(text: str) -> UserTurn:
    """A user's words."""
    return UserTurn((TextBlock(text),))


def answer(*content: AssistantBlock, model: str = OWN) -> AssistantTurn:
    """What a model answered."""
    return AssistantTurn(content, model)


def call(call_id: str, arguments: str = '{"text":"hi"}', name: str = "echo") -> ToolCallBlock:
    """A call in an answer."""
    return ToolCallBlock(call_id, name, Raw(arguments.encode()))


def result(call_id: str, *content: TextBlock | ImageBlock, is_error: bool = False) -> ToolTurn:
    """What a call came to."""
    return ToolTurn(call_id, "echo", content or (TextBlock("hi"),), is_error)


def thought(text: str, **replay: Any) -> ThinkingBlock:
    """A thought with what its provider wants back."""
    return ThinkingBlock(text, Raw(msgspec.json.encode(replay)))


def replay_of(block: ThinkingBlock) -> Any:
    """What is kept of a thought for its provider."""
    assert block.replay is not msgspec.UNSET
    return msgspec.json.decode(block.replay)
