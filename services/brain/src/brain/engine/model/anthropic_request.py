"""A request in Anthropic's Messages format. Above: `anthropic_messages`. Below: `replay`.

User and assistant take turns: what comes one after the other from the user's side, the results of
calls included, is one message. Marks tell the provider up to where it should keep its work.
"""

from typing import Literal

import msgspec
from msgspec import Raw, Struct

from brain.engine.model.dialect import Target
from brain.engine.model.pricing import ModelFacts
from brain.engine.model.protocol import AssistantTurn, ModelRequest, ToolTurn, Turn, UserTurn
from brain.engine.model.replay import (
    ERROR_PREFIX,
    NO_TEXT,
    call_arguments,
    call_name,
    own_replay,
    visible,
    without_last_thoughts,
)
from brain_core.content import AssistantBlock, TextBlock, ThinkingBlock, UserBlock

API = "anthropic-messages"
_CLAUDES_OUTPUT_TOKENS = 32_000
"""What each Claude can write that isn't in the table, since that is newer than those that can't."""

_USUAL_OUTPUT_TOKENS = 8192
_LEAST_BUDGET = 1024
_BUDGETS = {"low": 2048, "medium": 8192, "high": 16_384}


class Mark(Struct, frozen=True, tag="ephemeral"):
    """Up to here, the provider should remember what it has read."""


class Text(Struct, tag="text", omit_defaults=True):
    """A text block."""

    text: str
    cache_control: Mark | None = None


class Source(Struct, frozen=True, tag="base64"):
    """An image's bytes."""

    media_type: str
    data: str


class Image(Struct, tag="image", omit_defaults=True):
    """An image block."""

    source: Source
    cache_control: Mark | None = None


class ToolUse(Struct, frozen=True, tag="tool_use"):
    """A call that the model asked for."""

    id: str
    name: str
    input: Raw


class Result(Struct, tag="tool_result", omit_defaults=True):
    """What a call came to."""

    tool_use_id: str
    content: list[Text | Image]
    is_error: bool = False
    cache_control: Mark | None = None


class Thinking(Struct, frozen=True, tag="thinking"):
    """A thought with the signature that the provider gave it."""

    thinking: str
    signature: str


class Redacted(Struct, frozen=True, tag="redacted_thinking"):
    """A thought that only the provider can read."""

    data: str


UserPart = Text | Image | Result
AssistantPart = Text | ToolUse | Thinking | Redacted


class Message(Struct, frozen=True):
    """One side's message."""

    role: Literal["user", "assistant"]
    content: list[UserPart] | list[AssistantPart]


class Tool(Struct, frozen=True, omit_defaults=True):
    """A tool that the model may call."""

    name: str
    description: str
    input_schema: Raw
    cache_control: Mark | None = None


class Replay(Struct, frozen=True, tag_field="api", tag=API, omit_defaults=True):
    """What a thought's `replay` holds: the signature of a text, or what stands in its place."""

    signature: str = ""
    data: str = ""


class Thoughts(Struct, frozen=True, omit_defaults=True):
    """How the model is to think."""

    type: Literal["adaptive", "enabled"]
    budget_tokens: int | None = None
    display: Literal["summarized"] | None = None


class Output(Struct, frozen=True):
    """How much effort the model is to make."""

    effort: str


class Request(Struct, frozen=True, omit_defaults=True):
    """The whole body."""

    model: str
    max_tokens: int
    messages: list[Message]
    stream: Literal[True]
    system: list[Text] | None = None
    tools: list[Tool] | None = None
    temperature: float | None = None
    thinking: Thoughts | None = None
    output_config: Output | None = None


def write(request: ModelRequest, target: Target) -> bytes:
    """The body of a request. Raises: MsgspecError, UnicodeError."""
    messages = _messages(request.turns, target)
    max_tokens, thoughts, output = _thinking(
        request, target.facts, goes_on=_goes_on_without_thought(messages)
    )
    prompt = request.system_prompt
    return msgspec.json.encode(
        Request(
            model=request.model,
            max_tokens=max_tokens,
            messages=messages,
            stream=True,
            system=[Text(prompt, Mark())] if prompt and prompt.strip() else None,
            tools=_tools(request) or None,
            # A model that thinks takes no other temperature than its own.
            temperature=None if thoughts else request.temperature,
            thinking=thoughts,
            output_config=output,
        )
    )


def _goes_on_without_thought(messages: list[Message]) -> bool:
    """Whether this step goes on with a turn whose first thought is gone.

    A context that was compacted in the middle of a turn begins with a step that had none.
    """
    first: Message | None = None
    for message in reversed(messages):
        if message.role == "assistant":
            first = message
        elif not all(isinstance(part, Result) for part in message.content):
            break
    return first is not None and not isinstance(first.content[0], Thinking | Redacted)


def _thinking(
    request: ModelRequest, facts: ModelFacts, *, goes_on: bool
) -> tuple[int, Thoughts | None, Output | None]:
    """How many tokens the answer may have, its thoughts included, and how to think.

    With a budget, the provider refuses to think in a turn that goes on without its first thought.
    """
    most = facts.max_output_tokens
    claude = request.model.startswith("claude-")
    usual = _CLAUDES_OUTPUT_TOKENS if claude else _USUAL_OUTPUT_TOKENS
    asked = request.max_output_tokens or most or usual
    if request.thinking == "off":
        return asked, None, None
    kind = facts.thinking or ("adaptive" if claude else "budget")
    if kind == "adaptive":
        return asked, Thoughts("adaptive", display="summarized"), Output(request.thinking)
    if goes_on:
        return asked, None, None
    budget = _BUDGETS[request.thinking]
    whole = asked + budget if most is None else min(asked + budget, most)
    # The budget is part of the whole; the answer itself keeps at least as much as it can.
    return whole, Thoughts("enabled", max(_LEAST_BUDGET, min(budget, whole - _LEAST_BUDGET))), None


def _tools(request: ModelRequest) -> list[Tool]:
    last = len(request.tools) - 1
    return [
        Tool(tool.name, tool.description, tool.input_schema, Mark() if index == last else None)
        for index, tool in enumerate(request.tools)
    ]


def _messages(turns: tuple[Turn, ...], target: Target) -> list[Message]:
    messages: list[Message] = []
    waiting: list[UserPart] = []
    for turn in turns:
        if isinstance(turn, AssistantTurn):
            said = _assistant(turn, target)
            if said:
                _end_user(messages, waiting)
                waiting = []
                messages.append(Message("assistant", said))
        else:
            waiting += _user(turn, target)
    _end_user(messages, waiting)
    _mark([message for message in messages if message.role == "user"][-2:])
    return messages


def _end_user(messages: list[Message], parts: list[UserPart]) -> None:
    if parts:
        messages.append(Message("user", parts))


def _mark(messages: list[Message]) -> None:
    """Mark the last two: the end of what is new, and where the request before this one ended."""
    for message in messages:
        last = message.content[-1]
        if isinstance(last, Text | Image | Result):
            last.cache_control = Mark()


def _user(turn: UserTurn | ToolTurn, target: Target) -> list[UserPart]:
    parts = [_seen(block, target) for block in turn.content if not _is_empty(block)]
    if isinstance(turn, ToolTurn):
        return [_result(turn, parts or [Text(NO_TEXT)])]
    return [*parts] or [Text(NO_TEXT)]


def _result(turn: ToolTurn, parts: list[Text | Image]) -> Result:
    """What the call came to. The provider refuses the flag where there is more than text."""
    if turn.is_error and any(isinstance(part, Image) for part in parts):
        return Result(turn.call_id, [Text(ERROR_PREFIX.rstrip()), *parts])
    return Result(turn.call_id, parts, turn.is_error)


def _seen(block: UserBlock, target: Target) -> Text | Image:
    shown = visible(block, sees_images=target.facts.sees_images)
    if isinstance(shown, TextBlock):
        return Text(shown.text)
    return Image(Source(shown.mime_type, shown.data))


def _assistant(turn: AssistantTurn, target: Target) -> list[AssistantPart]:
    parts = (_said(block, turn, target) for block in without_last_thoughts(turn.content))
    return [part for part in parts if part is not None]


def _said(block: AssistantBlock, turn: AssistantTurn, target: Target) -> AssistantPart | None:
    if isinstance(block, ThinkingBlock):
        replay = own_replay(block, turn, target.model_id, Replay)
        if replay is None:
            return None
        if replay.data:
            return Redacted(replay.data)
        return Thinking(block.text, replay.signature) if replay.signature else None
    if isinstance(block, TextBlock):
        return None if _is_empty(block) else Text(block.text)
    return ToolUse(block.call_id, call_name(block), call_arguments(block))


def _is_empty(block: UserBlock) -> bool:
    """The provider refuses a text of nothing but spaces."""
    return isinstance(block, TextBlock) and not block.text.strip()
