"""A request in OpenAI's chat completions format. Above: `openai_chat`. Below: `replay`.

Results of calls are text only here: images among them follow in a user message, once all results
of the batch have been given.
"""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

from brain.engine.model.chat_quirks import Quirks
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
)
from brain_core.content import TextBlock, ThinkingBlock, ToolCallBlock, UserBlock

API = "openai-chat"
_BRIDGE = "I have the results."
"""Said by the model between results and a user's message, where they can't follow each other."""


class Text(Struct, frozen=True, tag="text"):
    """A text part."""

    text: str


class Url(Struct, frozen=True):
    """Where an image is: in the URL itself."""

    url: str


class Image(Struct, frozen=True, tag="image_url"):
    """An image part."""

    image_url: Url


Part = Text | Image


class System(Struct, frozen=True, tag_field="role", tag="system"):
    """What the model is told beforehand."""

    content: str


class User(Struct, frozen=True, tag_field="role", tag="user"):
    """A user's message."""

    content: str | list[Part]


class Called(Struct, frozen=True):
    """The function of a call, with its arguments as text."""

    name: str
    arguments: str


class Call(Struct, omit_defaults=True, tag="function"):
    """A call that the model asked for, and what its server wants back with it."""

    id: str
    function: Called
    extra_content: Any = None


class Assistant(Struct, tag_field="role", tag="assistant"):
    """The model's message. The fields of thoughts go to those servers that gave them."""

    content: str | None
    tool_calls: list[Call] | msgspec.UnsetType = msgspec.UNSET
    reasoning_content: str | msgspec.UnsetType = msgspec.UNSET
    reasoning: str | msgspec.UnsetType = msgspec.UNSET
    reasoning_details: list[Any] | msgspec.UnsetType = msgspec.UNSET


class Result(Struct, frozen=True, tag_field="role", tag="tool"):
    """What a call came to."""

    tool_call_id: str
    content: str


Message = System | User | Assistant | Result


class Function(Struct, frozen=True):
    """A tool that the model may call."""

    name: str
    description: str
    parameters: Raw


class Tool(Struct, frozen=True, tag="function"):
    """A tool, which is always a function."""

    function: Function


class StreamOptions(Struct, frozen=True):
    """Whether usage is told at the end."""

    include_usage: bool


class Effort(Struct, frozen=True):
    """How hard to think."""

    effort: str


class Request(Struct, frozen=True, omit_defaults=True):
    """The whole body."""

    model: str
    messages: list[Message]
    stream: Literal[True]
    stream_options: StreamOptions | None = None
    tools: list[Tool] | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    reasoning_effort: str | None = None
    reasoning: Effort | None = None


class Replay(Struct, frozen=True, tag_field="api", tag=API, omit_defaults=True):
    """What a thought's `replay` holds.

    `field` is where its text was; `details` stand beside it; `calls` belong to the message's calls,
    by their place.
    """

    field: Literal["reasoning_content", "reasoning"] | None = None
    details: list[Any] = []
    calls: dict[int, Any] = {}


def write(request: ModelRequest, target: Target, quirks: Quirks) -> bytes:
    """The body of a request. Raises: MsgspecError, UnicodeError."""
    effort = None if request.thinking == "off" else request.thinking
    most = request.max_output_tokens
    return msgspec.json.encode(
        Request(
            model=request.model,
            messages=_Conversation(target, quirks).messages(request),
            stream=True,
            stream_options=None
            if quirks.tells_usage_unasked
            else StreamOptions(include_usage=True),
            tools=[
                Tool(Function(tool.name, tool.description, tool.input_schema))
                for tool in request.tools
            ]
            or None,
            max_tokens=None if quirks.modern_max_tokens else most,
            max_completion_tokens=most if quirks.modern_max_tokens else None,
            temperature=request.temperature,
            reasoning_effort=None if quirks.nested_effort else effort,
            reasoning=Effort(effort) if effort and quirks.nested_effort else None,
        )
    )


class _Conversation:
    """The turns as messages. What a user's side says in a row becomes one message."""

    def __init__(self, target: Target, quirks: Quirks) -> None:
        self._target = target
        self._quirks = quirks
        self._messages: list[Message] = []
        self._user: list[Part] = []

    def messages(self, request: ModelRequest) -> list[Message]:
        if request.system_prompt:
            self._messages.append(System(request.system_prompt))
        for turn in request.turns:
            self._add(turn)
        self._end_user()
        return self._messages

    def _add(self, turn: Turn) -> None:
        if isinstance(turn, UserTurn):
            self._user += self._parts(turn.content)
        elif isinstance(turn, ToolTurn):
            self._messages.append(self._result(turn))
        else:
            message = self._assistant(turn)
            if message is not None:
                self._end_user()
                self._messages.append(message)

    def _end_user(self) -> None:
        parts, self._user = self._user, []
        if not parts:
            return
        if self._quirks.no_user_after_tool and self._after_result():
            self._messages.append(Assistant(_BRIDGE))
        texts = [part.text for part in parts if isinstance(part, Text)]
        plain = len(texts) == len(parts)
        self._messages.append(User("\n\n".join(texts) or NO_TEXT if plain else parts))

    def _after_result(self) -> bool:
        return bool(self._messages) and isinstance(self._messages[-1], Result)

    def _parts(self, content: Iterable[UserBlock]) -> list[Part]:
        shown = [visible(b, sees_images=self._target.facts.sees_images) for b in content]
        return [
            Text(block.text) if isinstance(block, TextBlock) else Image(Url(data_url(block)))
            for block in shown
        ]

    def _result(self, turn: ToolTurn) -> Result:
        parts = self._parts(turn.content)
        images = [part for part in parts if isinstance(part, Image)]
        if images:
            self._user += [Text(f"Images in the result of {turn.name}:"), *images]
        text = "\n".join(part.text for part in parts if isinstance(part, Text))
        text = text or ("(images follow)" if images else NO_TEXT)
        prefix = ERROR_PREFIX if turn.is_error else ""
        return Result(self._quirks.call_id(turn.call_id), prefix + text)

    def _assistant(self, turn: AssistantTurn) -> Assistant | None:
        text = "".join(block.text for block in turn.content if isinstance(block, TextBlock))
        calls = [self._call(block) for block in turn.content if isinstance(block, ToolCallBlock)]
        if not text and not calls:
            return None
        message = Assistant(text or None)
        if self._quirks.wants_reasoning_content:
            message.reasoning_content = ""
        if calls:
            message.tool_calls = calls
        for block in turn.content:
            if isinstance(block, ThinkingBlock):
                self._replay(message, calls, turn, block)
        return message

    def _call(self, block: ToolCallBlock) -> Call:
        arguments = bytes(call_arguments(block)).decode()
        return Call(self._quirks.call_id(block.call_id), Called(call_name(block), arguments))

    def _replay(
        self, message: Assistant, calls: list[Call], turn: AssistantTurn, block: ThinkingBlock
    ) -> None:
        replay = own_replay(block, turn, self._target.model_id, Replay)
        if replay is None:
            return
        if replay.details:
            message.reasoning_details = replay.details
        elif replay.field and block.text:
            setattr(message, replay.field, block.text)
        for index, extra in replay.calls.items():
            if index < len(calls):
                calls[index].extra_content = extra
