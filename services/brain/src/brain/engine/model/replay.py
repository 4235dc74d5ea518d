"""What all dialects do alike when a conversation is told again. Above: the requests' builders.

A provider refuses a whole request for one wrong block in it, and a session would be lost with it.
So whatever a model once wrote, or a tool once answered, is made into something that every provider
takes.
"""

import binascii
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

_SEEN = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), "image/webp"),
)
"""The images that every provider with eyes takes, and how they begin."""

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
    """The block, or what is said in place of an image that the model can't take.

    Providers look at the bytes and refuse an image that isn't what it is said to be, again in
    every later request. So it goes by what it is, whatever its tool or its user called it.
    """
    if isinstance(block, TextBlock):
        return block
    real = _real_type(block) if sees_images else None
    if real is None:
        return TextBlock(f"[an image of type {block.mime_type}, which this model can't see]")
    return ImageBlock(block.data, real)


def _real_type(image: ImageBlock) -> str | None:
    try:
        start = binascii.a2b_base64(image.data[:16])
    except binascii.Error:
        return None
    return next((kind for begins, kind in _SEEN if begins.match(start)), None)


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
