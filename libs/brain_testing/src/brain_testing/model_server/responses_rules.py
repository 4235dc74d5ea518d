"""What is a valid request in OpenAI's Responses format. Above: `refusal`.

The input is a list of items. Nothing is kept between requests, so a thought must come with its
encrypted content.
"""

from collections.abc import Iterator
from typing import Any, Literal

from brain_testing.model_server.chat_rules import is_object
from brain_testing.model_server.image_rules import url_problems
from brain_testing.model_server.seals import is_broken
from brain_testing.model_server.strict import Json, NotAsItShouldBe, Strict, doubled, shaped
from brain_testing.model_server.tool_rules import is_name, tool_problems

_LONGEST_ID = 64
_LEAST_OUTPUT = 16


class InputText(Strict, frozen=True, tag="input_text"):
    """What a user or a tool said."""

    text: str


class InputImage(Strict, frozen=True, tag="input_image"):
    """What a user or a tool showed."""

    image_url: str
    detail: Literal["auto", "low", "high"] = "auto"


class OutputText(Strict, frozen=True, tag="output_text"):
    """What the model said."""

    text: str
    annotations: tuple[Json, ...] = ()
    logprobs: tuple[Json, ...] = ()


class Refused(Strict, frozen=True, tag="refusal"):
    """What the model said when it refused."""

    refusal: str


Shown = list[InputText | InputImage]


class Told(Strict, frozen=True):
    """A message to the model."""

    role: Literal["user", "system", "developer"]
    content: str | Shown
    type: Literal["message"] = "message"


class Said(Strict, frozen=True):
    """A message of the model."""

    role: Literal["assistant"]
    content: str | list[OutputText | Refused]
    type: Literal["message"] = "message"
    id: str = "msg_"
    status: str = ""


class Call(Strict, frozen=True, tag="function_call"):
    """A call that the model asked for."""

    call_id: str
    name: str
    arguments: str
    id: str = "fc_"
    status: str = ""


class Output(Strict, frozen=True, tag="function_call_output"):
    """A call's result."""

    call_id: str
    output: str | Shown


class Part(Strict, frozen=True):
    """A part of a thought."""

    type: Literal["summary_text", "reasoning_text"]
    text: str


class Reasoning(Strict, frozen=True, tag="reasoning"):
    """A thought."""

    id: str
    summary: list[Part]
    content: list[Part] | None = None
    encrypted_content: str | None = None


Item = Told | Said | Call | Output | Reasoning
_KINDS: dict[str, type[Item]] = {
    "function_call": Call,
    "function_call_output": Output,
    "reasoning": Reasoning,
}


class Declared(Strict, frozen=True, tag="function"):
    """A function that the model may call."""

    name: str
    parameters: Json
    strict: bool
    description: str = ""


class Effort(Strict, frozen=True):
    """How to think."""

    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    summary: Literal["auto", "concise", "detailed"] | None = None


Included = Literal["reasoning.encrypted_content", "message.output_text.logprobs"]


class Request(Strict, frozen=True):
    """The whole body, as far as a client like Brain could have use for it."""

    model: str
    input: str | list[Json]
    instructions: str | None = None
    stream: bool = False
    store: bool = True
    include: tuple[Included, ...] = ()
    tools: tuple[Declared, ...] = ()
    tool_choice: Any = None
    parallel_tool_calls: bool = True
    reasoning: Effort | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    text: Any = None
    metadata: dict[str, str] | None = None


def responses_problems(body: Json) -> Iterator[str]:
    """Everything for which the request is refused. Raises: NotAsItShouldBe."""
    request = shaped(body, Request)
    yield from _settings(request)
    if isinstance(request.input, str):
        return
    items = [_item(f"input[{place}]", item) for place, item in enumerate(request.input)]
    if not items:
        yield "Invalid 'input': empty array. Expected an array with minimum length 1."
    for place, item in enumerate(items):
        yield from _contents(f"input[{place}]", item)
    yield from _calls_and_outputs(items)
    yield from _thoughts(items)


def _item(where: str, item: Json) -> Item:
    kind = item.get("type", "message")
    if kind == "message":
        return shaped(item, Said if item.get("role") == "assistant" else Told, where)
    if kind not in _KINDS:
        raise NotAsItShouldBe(f"Invalid value: '{kind}' for '{where}.type'.")
    return shaped(item, _KINDS[kind], where)


def _settings(request: Request) -> Iterator[str]:
    most = request.max_output_tokens
    if most is not None and most < _LEAST_OUTPUT:
        yield (
            f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >="
            f" {_LEAST_OUTPUT}, but got {most} instead."
        )
    if request.temperature is not None and not 0 <= request.temperature <= 2:
        yield f"Invalid 'temperature': {request.temperature} is not from 0 to 2."
    yield from tool_problems((tool.name, tool.parameters) for tool in request.tools)


def _contents(where: str, item: Item) -> Iterator[str]:
    if isinstance(item, Told | Said):
        if item.content == []:
            yield f"Invalid '{where}.content': empty array."
        yield from _images(where, item.content)
    elif isinstance(item, Output):
        yield from _images(where, item.output)
    elif isinstance(item, Call):
        yield from _call(where, item)
    for id_, prefix in _ids(item):
        if not id_.startswith(prefix):
            yield f"Invalid '{where}.id': '{id_}'. Expected an ID that begins with '{prefix}'."


def _ids(item: Item) -> Iterator[tuple[str, str]]:
    if isinstance(item, Said):
        yield item.id, "msg_"
    elif isinstance(item, Call):
        yield item.id, "fc_"
    elif isinstance(item, Reasoning):
        yield item.id, "rs_"


def _images(where: str, content: str | Shown | list[OutputText | Refused]) -> Iterator[str]:
    for part in () if isinstance(content, str) else content:
        if isinstance(part, InputImage):
            yield from (f"{where}: {each}" for each in url_problems(part.image_url))


def _call(where: str, call: Call) -> Iterator[str]:
    if not 1 <= len(call.call_id) <= _LONGEST_ID:
        yield f"Invalid '{where}.call_id': expected a string with a length from 1 to {_LONGEST_ID}."
    if not is_name(call.name):
        yield f"Invalid '{where}.name': string does not match pattern."
    if not is_object(call.arguments):
        yield f"Invalid '{where}.arguments': expected the JSON of an object."


def _calls_and_outputs(items: list[Item]) -> Iterator[str]:
    """Each call has one output, after it and before whatever is said next."""
    awaited: list[str] = []
    for item in items:
        if isinstance(item, Call):
            awaited.append(item.call_id)
        elif isinstance(item, Output):
            if item.call_id in awaited:
                awaited.remove(item.call_id)
            else:
                yield f"No tool call found for function call output with call_id {item.call_id}."
        elif isinstance(item, Told) and awaited:
            break
    if awaited:
        yield f"No tool output found for function call {awaited[0]}."
    for call_id in doubled(item.call_id for item in items if isinstance(item, Call)):
        yield f"Duplicate function call with call_id {call_id}."


def _thoughts(items: list[Item]) -> Iterator[str]:
    for place, item in enumerate(items):
        if not isinstance(item, Reasoning):
            continue
        if item.encrypted_content is None:
            yield (
                f"Item with id '{item.id}' not found. Items are not persisted when `store` is set"
                " to false."
            )
        elif is_broken(item.encrypted_content, "\n\n".join(part.text for part in item.summary)):
            yield f"The encrypted content for item {item.id} could not be verified."
        following = items[place + 1] if place + 1 < len(items) else None
        if not isinstance(following, Said | Call | Reasoning):
            yield (
                f"Item '{item.id}' of type 'reasoning' was provided without its required following"
                " item."
            )
