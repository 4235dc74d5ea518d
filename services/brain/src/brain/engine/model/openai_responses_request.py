"""A request in OpenAI's Responses format. Above: `openai_responses`. Below: `replay`.

The provider keeps nothing: each request tells the whole conversation, as items. What the model
thought is handed back encrypted, as the provider gave it.
"""

import re
from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

from brain.engine.model.dialect import Target
from brain.engine.model.protocol import AssistantTurn, ModelRequest, ToolTurn, Turn, UserTurn
from brain.engine.model.replay import (
    ERROR_PREFIX,
    NO_TEXT,
    call_arguments,
    call_name,
    data_url,
    own_replay,
    visible,
    without_last_thoughts,
)
from brain_core.content import TextBlock, ThinkingBlock, ToolCallBlock

API = "openai-responses"
_REASONING_NAME = re.compile(r"o\d|gpt-(?:[5-9]|\d\d)(?!.*-chat)")
"""How models are called that reason, if nothing else is known of them."""


class Text(Struct, frozen=True, tag="input_text"):
    """A text part."""

    text: str


class Image(Struct, frozen=True, tag="input_image"):
    """An image part; the image is in the URL itself."""

    image_url: str
    detail: Literal["auto"] = "auto"


Part = Text | Image


class User(Struct, frozen=True, tag_field="role", tag="user"):
    """A user's message."""

    content: list[Part]


class Assistant(Struct, frozen=True, tag_field="role", tag="assistant"):
    """What the model said."""

    content: str


class Call(Struct, frozen=True, tag="function_call"):
    """A call that the model asked for."""

    call_id: str
    name: str
    arguments: str


class Result(Struct, frozen=True, tag="function_call_output"):
    """What a call came to."""

    call_id: str
    output: str | list[Part]


Item = User | Assistant | Call | Result | dict[str, Any]


class Tool(Struct, frozen=True, tag="function"):
    """A tool that the model may call; not `strict`, since schemas have more than that allows."""

    name: str
    description: str
    parameters: Raw
    strict: bool


class Reasoning(Struct, frozen=True):
    """How hard to think, and that a summary of it is wanted."""

    effort: str
    summary: Literal["auto"]


class Request(Struct, frozen=True, omit_defaults=True):
    """The whole body."""

    model: str
    input: list[Item]
    stream: Literal[True]
    store: bool
    instructions: str | None = None
    tools: list[Tool] | None = None
    include: list[str] | None = None
    reasoning: Reasoning | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None


class Replay(Struct, frozen=True, tag_field="api", tag=API):
    """What a thought's `replay` holds: the whole item."""

    item: dict[str, Any]


def write(request: ModelRequest, target: Target) -> bytes:
    """The body of a request. Raises: MsgspecError, UnicodeError."""
    thinks = request.thinking != "off"
    # A model that doesn't reason refuses to be asked for it.
    encrypted = thinks or _reasons(request.model, target)
    return msgspec.json.encode(
        Request(
            model=request.model,
            input=[item for turn in request.turns for item in _items(turn, target)],
            stream=True,
            store=False,
            instructions=request.system_prompt or None,
            tools=[
                Tool(tool.name, tool.description, tool.input_schema, strict=False)
                for tool in request.tools
            ]
            or None,
            include=["reasoning.encrypted_content"] if encrypted else None,
            reasoning=Reasoning(request.thinking, "auto") if thinks else None,
            max_output_tokens=request.max_output_tokens,
            temperature=request.temperature,
        )
    )


def _reasons(model: str, target: Target) -> bool:
    if target.facts.reasons is not None:
        return target.facts.reasons
    return _REASONING_NAME.match(model) is not None


def _items(turn: Turn, target: Target) -> Iterator[Item]:
    if isinstance(turn, AssistantTurn):
        yield from _assistant(turn, target)
    elif isinstance(turn, UserTurn):
        yield User(_parts(turn, target))
    else:
        parts = _parts(turn, target)
        if turn.is_error:
            parts.insert(0, Text(ERROR_PREFIX.rstrip()))
        texts = [part.text for part in parts if isinstance(part, Text)]
        plain = len(texts) == len(parts)
        yield Result(turn.call_id, "\n".join(texts) if plain else parts)


def _parts(turn: UserTurn | ToolTurn, target: Target) -> list[Part]:
    shown = [visible(b, sees_images=target.facts.sees_images) for b in turn.content]
    parts = [Text(b.text) if isinstance(b, TextBlock) else Image(data_url(b)) for b in shown]
    return [part for part in parts if part != Text("")] or [Text(NO_TEXT)]


def _assistant(turn: AssistantTurn, target: Target) -> Iterator[Item]:
    for block in without_last_thoughts(turn.content):
        if isinstance(block, TextBlock):
            if block.text:
                yield Assistant(block.text)
        elif isinstance(block, ToolCallBlock):
            arguments = bytes(call_arguments(block)).decode()
            yield Call(block.call_id, call_name(block), arguments)
        else:
            yield from _thought(block, turn, target)


def _thought(block: ThinkingBlock, turn: AssistantTurn, target: Target) -> Iterator[Item]:
    replay = own_replay(block, turn, target.model_id, Replay)
    if replay is not None:
        yield replay.item
