"""What is a valid request in Anthropic's Messages format. Above: `refusal`.

Below: `anthropic_shapes`.
"""

import re
from collections.abc import Iterator

from brain_testing.model_server.anthropic_shapes import (
    Adaptive,
    Assistant,
    Base64,
    Block,
    Enabled,
    Image,
    Message,
    Redacted,
    Request,
    Result,
    Text,
    Thinking,
    ToolUse,
    User,
)
from brain_testing.model_server.image_rules import image_problems
from brain_testing.model_server.seals import is_broken
from brain_testing.model_server.strict import Json, doubled, shaped
from brain_testing.model_server.tool_rules import is_name, tool_problems

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_MOST_MARKS = 4
_LEAST_BUDGET = 1024


def anthropic_problems(body: Json) -> Iterator[str]:
    """Everything for which the request is refused. Raises: NotAsItShouldBe."""
    request = shaped(body, Request)
    yield from _settings(request)
    yield from _marks(request)
    yield from _ends(request.messages)
    for place, message in enumerate(request.messages):
        yield from _message(f"messages.{place}", message)
    yield from _calls_and_results(request.messages)
    if isinstance(request.thinking, Enabled):
        yield from _thinks_first(request.messages)


def blocks_of(message: Message) -> list[Block]:
    """The message's blocks; a string is one text block."""
    return [Text(message.content)] if isinstance(message.content, str) else [*message.content]


def _settings(request: Request) -> Iterator[str]:
    if request.max_tokens < 1:
        yield "max_tokens: Input should be greater than or equal to 1"
    if request.temperature is not None and not 0 <= request.temperature <= 1:
        yield "temperature: range: 0..1"
    if isinstance(request.thinking, Enabled):
        if request.thinking.budget_tokens < _LEAST_BUDGET:
            yield f"thinking.enabled.budget_tokens: must be at least {_LEAST_BUDGET}"
        if request.thinking.budget_tokens >= request.max_tokens:
            yield "`max_tokens` must be greater than `thinking.budget_tokens`."
    if isinstance(request.thinking, Enabled | Adaptive) and request.temperature not in (None, 1):
        yield "`temperature` may only be set to 1 when thinking is enabled."
    if isinstance(request.system, list):
        for place, block in enumerate(request.system):
            yield from _text(f"system.{place}", block)
    yield from tool_problems((tool.name, tool.input_schema) for tool in request.tools)


def _marks(request: Request) -> Iterator[str]:
    system = request.system if isinstance(request.system, list) else []
    blocks = [block for message in request.messages for block in blocks_of(message)]
    inner = [part for block in blocks if isinstance(block, Result) for part in block.content]
    marked = [
        each
        for each in (request, *request.tools, *system, *blocks, *inner)
        if getattr(each, "cache_control", None) is not None
    ]
    if len(marked) > _MOST_MARKS:
        yield (
            f"A maximum of {_MOST_MARKS} blocks with cache_control may be provided. Found"
            f" {len(marked)}."
        )


def _ends(messages: list[Message]) -> Iterator[str]:
    if not messages:
        yield "messages: at least one message is required"
    elif not isinstance(messages[0], User):
        yield 'messages: first message must use the "user" role'
    elif isinstance(messages[-1], Assistant):
        yield (
            "This model does not support assistant message prefill. The conversation must end with"
            " a user message."
        )


def _message(where: str, message: Message) -> Iterator[str]:
    blocks = blocks_of(message)
    if not blocks or message.content == "":
        yield f"{where}: all messages must have non-empty content"
    for place, block in enumerate(blocks):
        yield from _block(f"{where}.content.{place}", block)
    if isinstance(message, Assistant):
        if blocks and isinstance(blocks[-1], Thinking | Redacted):
            yield f"{where}: The final block in an assistant message cannot be `thinking`."
        return
    said = False
    for block in blocks:
        if isinstance(block, Result) and said:
            yield f"{where}: `tool_result` blocks must come before all other content."
        said = said or not isinstance(block, Result)


def _block(where: str, block: Block) -> Iterator[str]:
    if isinstance(block, Text):
        yield from _text(where, block)
    elif isinstance(block, Image):
        yield from _image(where, block)
    elif isinstance(block, ToolUse):
        if not _ID.fullmatch(block.id):
            yield f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
        if not is_name(block.name):
            yield f"{where}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'"
    elif isinstance(block, Result):
        yield from _result(where, block)
    elif isinstance(block, Thinking) and (
        not block.signature or is_broken(block.signature, block.thinking)
    ):
        yield f"{where}: Invalid `signature` in `thinking` block"


def _text(where: str, block: Text) -> Iterator[str]:
    if not block.text:
        yield f"{where}: text content blocks must be non-empty"
    elif not block.text.strip():
        yield f"{where}: text content blocks must contain non-whitespace text"


def _image(where: str, block: Image) -> Iterator[str]:
    if isinstance(block.source, Base64):
        problems = image_problems(block.source.media_type, block.source.data)
        yield from (f"{where}.image.source.base64: {problem}" for problem in problems)


def _result(where: str, block: Result) -> Iterator[str]:
    if isinstance(block.content, str):
        return
    for place, part in enumerate(block.content):
        yield from _block(f"{where}.tool_result.content.{place}", part)
        if block.is_error and isinstance(part, Image):
            yield f'{where}.tool_result: all content must be type "text" if "is_error" is true'


def _calls_and_results(messages: list[Message]) -> Iterator[str]:
    """The results of a message's calls stand in the message right behind it, once each."""
    called: set[str] = set()
    for place, message in enumerate(_merged(messages)):
        results = [block.tool_use_id for block in message if isinstance(block, Result)]
        for extra in (result for result in results if result not in called):
            yield (
                f"messages.{place}: unexpected `tool_use_id` found in `tool_result` blocks:"
                f" {extra}. Each `tool_result` block must have a corresponding `tool_use` block in"
                " the previous message."
            )
        for twice in doubled(results):
            yield (
                f"messages.{place}: each tool_use must have a single result. Found multiple"
                f" `tool_result` blocks with id: {twice}"
            )
        missing = called.difference(results)
        if missing:
            yield _without_results(place - 1, missing)
        called = {block.id for block in message if isinstance(block, ToolUse)}
    if called:
        yield _without_results(len(messages) - 1, called)
    uses = (b.id for message in messages for b in blocks_of(message) if isinstance(b, ToolUse))
    for twice in doubled(uses):
        yield f"messages: `tool_use` ids must be unique: {twice}"


def _without_results(place: int, missing: set[str]) -> str:
    return (
        f"messages.{place}: `tool_use` ids were found without `tool_result` blocks immediately"
        f" after: {', '.join(sorted(missing))}. Each `tool_use` block must have a corresponding"
        " `tool_result` block in the next message."
    )


def _merged(messages: list[Message]) -> list[list[Block]]:
    """The messages' blocks; what one side says in a row is one message to the provider."""
    merged: list[list[Block]] = []
    before: type[Message] | None = None
    for message in messages:
        if type(message) is before:
            merged[-1] += blocks_of(message)
        else:
            merged.append(blocks_of(message))
        before = type(message)
    return merged


def _thinks_first(messages: list[Message]) -> Iterator[str]:
    """A step that goes on after results needs the thought with which its turn began."""
    begin: Assistant | None = None
    for message in reversed(messages):
        if isinstance(message, Assistant):
            begin = message
        elif not all(isinstance(block, Result) for block in blocks_of(message)):
            break
    if begin is not None and not isinstance(blocks_of(begin)[0], Thinking | Redacted):
        yield (
            "Expected `thinking` or `redacted_thinking`. When `thinking` is enabled, a final"
            " `assistant` message must start with a thinking block (preceding the lastmost set of"
            " `tool_use` and `tool_result` blocks)."
        )
