"""What all dialects do alike when a conversation is told again. Above: the requests' builders.

A provider refuses a whole request for one wrong block in it, and a session would be lost with it.
So whatever a model once wrote, or a tool once answered, is made into something that every provider
takes.
"""

import re
from typing import TypeVar

import msgspec
from msgspec import UNSET, Raw

from brain.engine.model.protocol import AssistantTurn
from brain_core.content import (
    AssistantBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    UserBlock,
)

_SEEN = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
"""The images that every provider with eyes takes."""

_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64
_T = TypeVar("_T")

NO_TEXT = "(no text)"
"""Stands where a provider wants a text and there is none."""

ERROR_PREFIX = "Error: "
"""Begins the result of a call that failed, where the format has no flag for it."""


def call_name(call: ToolCallBlock) -> str:
    """The call's name, in the letters that providers allow; a model may have made one up."""
    return _NOT_IN_A_NAME.sub("_", call.name)[:_LONGEST_NAME] or "unnamed"


def call_arguments(call: ToolCallBlock) -> Raw:
    """The call's arguments as a JSON object. What the model wrote in its place is put into one."""
    if bytes(call.arguments)[:1] == b"{":
        return call.arguments
    return Raw(msgspec.json.encode({"arguments_as_written": call.arguments}))


def visible(block: UserBlock, *, sees_images: bool) -> UserBlock:
    """The block, or what is said in place of an image that the model can't take."""
    if isinstance(block, TextBlock) or (sees_images and block.mime_type in _SEEN):
        return block
    return TextBlock(f"[an image of type {block.mime_type}, which this model can't see]")


def without_last_thoughts(content: tuple[AssistantBlock, ...]) -> tuple[AssistantBlock, ...]:
    """The content up to its last text or call.

    An answer may have been cut off in a thought, which providers refuse if nothing follows it.
    """
    says = [
        index
        for index, block in enumerate(content)
        if isinstance(block, ToolCallBlock) or (isinstance(block, TextBlock) and block.text.strip())
    ]
    return content[: says[-1] + 1] if says else ()


def data_url(image: ImageBlock) -> str:
    """The image as a URL."""
    return f"data:{image.mime_type};base64,{image.data}"


def own_replay(
    block: ThinkingBlock, turn: AssistantTurn, model_id: str, kind: type[_T]
) -> _T | None:
    """What the provider wants back with a thought: only if this very model had it, in this format.

    Another model can't use it, and its provider would refuse it.
    """
    if block.replay is UNSET or turn.model != model_id:
        return None
    try:
        return msgspec.json.decode(block.replay, type=kind)
    except msgspec.MsgspecError:
        return None
