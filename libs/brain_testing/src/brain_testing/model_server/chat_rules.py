"""What is a valid request in OpenAI's chat completions format. Above: `refusal`.

An assistant message may have the fields that servers which imitate the format add for thoughts.
"""

import json
from collections.abc import Iterator
from typing import Any, Literal

from msgspec import UNSET, UnsetType

from brain_testing.model_server.image_rules import url_problems
from brain_testing.model_server.strict import Json, Strict, doubled, shaped
from brain_testing.model_server.tool_rules import is_name, tool_problems

_LONGEST_ID = 40


class Text(Strict, frozen=True, tag="text"):
    """A text part."""

    text: str


class Url(Strict, frozen=True):
    """An image's address, and how closely it is looked at."""

    url: str
    detail: Literal["auto", "low", "high"] = "auto"


class Image(Strict, frozen=True, tag="image_url"):
    """An image part."""

    image_url: Url


class System(Strict, frozen=True, tag_field="role", tag="system"):
    """What the model is told beforehand."""

    content: str | list[Text]


class Developer(Strict, frozen=True, tag_field="role", tag="developer"):
    """The newer name of `System`."""

    content: str | list[Text]


class User(Strict, frozen=True, tag_field="role", tag="user"):
    """A user's message: the only place for images."""

    content: str | list[Text | Image]


class Function(Strict, frozen=True):
    """What a call calls; `arguments` is JSON."""

    name: str
    arguments: str


class Call(Strict, frozen=True, tag="function"):
    """A call that the model asked for."""

    id: str
    function: Function
    extra_content: Any = None


class Assistant(Strict, frozen=True, tag_field="role", tag="assistant"):
    """The model's message."""

    content: str | list[Text] | None = None
    refusal: str | None = None
    tool_calls: list[Call] | UnsetType = UNSET
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[Json] | None = None


class Tool(Strict, frozen=True, tag_field="role", tag="tool"):
    """A call's result."""

    tool_call_id: str
    content: str | list[Text]


Message = System | Developer | User | Assistant | Tool


class Declared(Strict, frozen=True):
    """A function that the model may call."""

    name: str
    description: str = ""
    parameters: Json | None = None
    strict: bool | None = None


class Declaration(Strict, frozen=True, tag="function"):
    """A tool that the model may use."""

    function: Declared


class StreamOptions(Strict, frozen=True):
    """Whether the last chunk has the usage."""

    include_usage: bool = False


class Request(Strict, frozen=True):
    """The whole body, as far as a client like Brain could have use for it."""

    model: str
    messages: list[Message]
    stream: bool = False
    stream_options: StreamOptions | None = None
    tools: list[Declaration] | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    reasoning_effort: str | None = None
    reasoning: Json | None = None
    response_format: Any = None
    stop: str | list[str] | None = None
    store: bool | None = None
    metadata: dict[str, str] | None = None


def chat_problems(body: Json) -> Iterator[str]:
    """Everything for which the request is refused. Raises: NotAsItShouldBe."""
    request = shaped(body, Request)
    yield from _settings(request)
    for place, message in enumerate(request.messages):
        yield from _message(f"messages[{place}]", message)
    yield from _order(request.messages)


def _settings(request: Request) -> Iterator[str]:
    if not request.messages:
        yield "Invalid 'messages': empty array. Expected an array with minimum length 1."
    if request.stream_options is not None and not request.stream:
        yield "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    if request.max_tokens is not None and request.max_completion_tokens is not None:
        yield "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
    for limit in (request.max_tokens, request.max_completion_tokens):
        if limit is not None and limit < 1:
            yield f"Invalid 'max_tokens': integer below minimum value: {limit}."
    if request.temperature is not None and not 0 <= request.temperature <= 2:
        yield f"Invalid 'temperature': {request.temperature} is not from 0 to 2."
    if request.tools is not None:
        if not 1 <= len(request.tools) <= 128:
            yield f"Invalid 'tools': {len(request.tools)} of them. Expected from 1 to 128."
        yield from tool_problems((t.function.name, t.function.parameters) for t in request.tools)


def _order(messages: list[Message]) -> Iterator[str]:
    """Behind each message with calls stand the results of all of them, and nothing else."""
    awaited: list[str] = []
    answered: list[str] = []
    for place, message in enumerate(messages):
        if isinstance(message, Tool):
            if message.tool_call_id in answered:
                yield (
                    f"Duplicate value for 'tool_call_id' of '{message.tool_call_id}' in"
                    f" message[{place}]"
                )
            elif message.tool_call_id not in awaited:
                yield (
                    f"Invalid parameter: messages[{place}] with role 'tool' must be a response to"
                    " a preceding message with 'tool_calls'."
                )
            else:
                awaited.remove(message.tool_call_id)
                answered.append(message.tool_call_id)
            continue
        if awaited:
            break
        calls = _calls(message)
        awaited, answered = [call.id for call in calls], []
    if awaited:
        yield (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to"
            " each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            + ", ".join(awaited)
        )


def _calls(message: Message) -> list[Call]:
    if isinstance(message, Assistant) and message.tool_calls is not UNSET:
        return message.tool_calls
    return []


def _message(where: str, message: Message) -> Iterator[str]:
    if isinstance(message, Assistant):
        yield from _assistant(where, message)
    elif message.content == []:
        yield f"Invalid '{where}.content': empty array. Expected an array with minimum length 1."
    if isinstance(message, User) and not isinstance(message.content, str):
        for part in message.content:
            if isinstance(part, Image):
                yield from (f"{where}: {each}" for each in url_problems(part.image_url.url))


def _assistant(where: str, message: Assistant) -> Iterator[str]:
    calls = _calls(message)
    if message.tool_calls == []:
        yield f"Invalid '{where}.tool_calls': empty array. Expected an array with minimum length 1."
    if not calls and not message.content and not message.refusal:
        yield f"Invalid value for '{where}.content': expected a string, got {message.content!r}."
    for doubled_id in doubled(call.id for call in calls):
        yield f"Duplicate value for 'tool_calls' id '{doubled_id}' in '{where}'."
    for place, call in enumerate(calls):
        yield from _call(f"{where}.tool_calls[{place}]", call)


def _call(where: str, call: Call) -> Iterator[str]:
    if not 1 <= len(call.id) <= _LONGEST_ID:
        yield f"Invalid '{where}.id': expected a string with a length from 1 to {_LONGEST_ID}."
    if not is_name(call.function.name):
        yield f"Invalid '{where}.function.name': string does not match pattern."
    if not is_object(call.function.arguments):
        yield f"Invalid '{where}.function.arguments': expected the JSON of an object."


def is_object(text: str) -> bool:
    """Whether it is the JSON of an object."""
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
