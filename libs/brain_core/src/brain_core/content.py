"""What messages are made of: content blocks, as users, models and tools exchange them.

In JSON each block carries its `type`. The shapes are those of the HTTP API.
"""

from msgspec import UNSET, Raw, Struct, UnsetType


class TextBlock(Struct, frozen=True, tag="text"):
    """Plain text."""

    text: str


class ImageBlock(Struct, frozen=True, tag="image"):
    """An image: base64 `data` and a `mime_type` that begins with `image/`."""

    data: str
    mime_type: str


class ThinkingBlock(Struct, frozen=True, tag="thinking"):
    """What a model thought aloud before it answered.

    `replay` is what its provider wants back, word for word, when the thought is part of a later
    request: a signature, or reasoning that only the provider can read.
    """

    text: str
    replay: Raw | UnsetType = UNSET


class ToolCallBlock(Struct, frozen=True, tag="tool_call"):
    """A model's wish to call a tool.

    `arguments` is the model's JSON, compact, digits and key order as the model wrote them. If
    the model wrote something that isn't JSON, it is that text as a JSON string.
    """

    call_id: str
    name: str
    arguments: Raw


UserBlock = TextBlock | ImageBlock
ResultBlock = TextBlock | ImageBlock
AssistantBlock = TextBlock | ThinkingBlock | ToolCallBlock


class ToolResult(Struct, frozen=True):
    """What a tool call came to.

    `content` is never empty. `code` is a stable word for each way to fail (`refused_arguments`,
    `timeout_total`, …) and unset for what the tool itself answered.
    """

    content: tuple[ResultBlock, ...]
    is_error: bool = False
    unknown_outcome: bool = False
    structured_content: Raw | UnsetType = UNSET
    code: str | UnsetType = UNSET


def text_of(blocks: tuple[UserBlock | AssistantBlock, ...]) -> str:
    """The text of all text blocks, one after the other."""
    return "".join(block.text for block in blocks if isinstance(block, TextBlock))
