"""The official clients, asked in terms that the three formats have in common.

Above: tests of the scripted model server. Below: the `openai` and `anthropic` packages, told to
check every event against their own types.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple, cast

import anthropic
import openai
import pytest
from anthropic.types import Message
from openai.types.chat import ChatCompletion
from openai.types.responses import Response
from pydantic import BaseModel

from brain_testing.model_server import KEY, Dialect, ModelServer, Used

Json = dict[str, Any]


class Heard(NamedTuple):
    """An answer as an official client understood it."""

    text: str
    thinking: str
    seals: list[str]
    calls: list[tuple[str, Any]]
    refusal: str
    finish: str | None
    used: Used | None


class Official(NamedTuple):
    """A client. `errors` has its exceptions; the others ask with what stands in the body.

    `streamed` uses the client's streaming helper, `events` its plain stream.
    """

    errors: Any
    streamed: Callable[..., Awaitable[Heard]]
    whole: Callable[..., Awaitable[Heard]]
    events: Callable[..., Awaitable[list[Any]]]


Open = Callable[..., Official]


@pytest.fixture
async def official() -> AsyncIterator[Open]:
    """Opens the official client for a format: `official("openai-chat", server)`."""
    opened: list[openai.AsyncOpenAI | anthropic.AsyncAnthropic] = []

    def open_client(dialect: Dialect, server: ModelServer, key: str = KEY) -> Official:
        if dialect == "anthropic-messages":
            client = anthropic.AsyncAnthropic(
                base_url=server.url,
                api_key=key,
                max_retries=0,
                _strict_response_validation=True,
            )
            opened.append(client)
            return _Anthropic(client).official()
        other = openai.AsyncOpenAI(
            base_url=f"{server.url}/v1",
            api_key=key,
            max_retries=0,
            _strict_response_validation=True,
        )
        opened.append(other)
        return (_Chat(other) if dialect == "openai-chat" else _Responses(other)).official()

    yield open_client
    for client in opened:
        await client.close()


_OF_THE_HELPER = {"parsed", "parsed_arguments", "index"}
"""What the streaming helper of the chat format adds by itself."""


_INPUT: Json = {"model": "m", "input": "Hi"}
_MESSAGES: Json = {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "Hi"}]}


class _Chat:
    def __init__(self, client: openai.AsyncOpenAI) -> None:
        self._chat = client.chat.completions
        self._create: Any = client.chat.completions.create

    def official(self) -> Official:
        return Official(openai, self.streamed, self.whole, self.events)

    async def streamed(self, **body: Any) -> Heard:
        options: Json = {"stream_options": {"include_usage": True}}
        async with self._chat.stream(**(_MESSAGES | options | body)) as stream:
            async for event in stream:
                _nothing_unknown(event, _OF_THE_HELPER | {"reasoning_content"})
            return _from_chat(await stream.get_final_completion())

    async def whole(self, **body: Any) -> Heard:
        answer: ChatCompletion = await self._create(**(_MESSAGES | body))
        return _from_chat(answer)

    async def events(self, **body: Any) -> list[Any]:
        stream = await self._create(**(_MESSAGES | body), stream=True)
        return [event async for event in stream]


def _from_chat(answer: ChatCompletion) -> Heard:
    _nothing_unknown(answer, _OF_THE_HELPER | {"reasoning_content"})
    choice, usage = answer.choices[0], answer.usage
    message = choice.message
    functions = [c.function for c in message.tool_calls or () if c.type == "function"]
    return Heard(
        text=message.content or "",
        thinking=getattr(message, "reasoning_content", ""),
        seals=[],
        calls=[(each.name, json.loads(each.arguments)) for each in functions],
        refusal=message.refusal or "",
        finish=choice.finish_reason,
        used=usage and _used_of_chat(usage.model_dump()),
    )


def _used_of_chat(usage: Json) -> Used:
    prompt, completion = usage["prompt_tokens_details"], usage["completion_tokens_details"]
    cached, written = prompt["cached_tokens"], prompt["cache_write_tokens"]
    return Used(
        usage["prompt_tokens"] - cached - written,
        usage["completion_tokens"],
        cached,
        written,
        completion["reasoning_tokens"],
    )


class _Responses:
    def __init__(self, client: openai.AsyncOpenAI) -> None:
        self._responses = client.responses
        self._create: Any = client.responses.create

    def official(self) -> Official:
        return Official(openai, self.streamed, self.whole, self.events)

    async def streamed(self, **body: Any) -> Heard:
        async with self._responses.stream(**(_INPUT | body)) as stream:
            async for event in stream:
                _nothing_unknown(event, set())
            return _from_responses(await stream.get_final_response())

    async def whole(self, **body: Any) -> Heard:
        answer: Response = await self._create(**(_INPUT | body))
        return _from_responses(answer)

    async def events(self, **body: Any) -> list[Any]:
        stream = await self._create(**(_INPUT | body), stream=True)
        return [event async for event in stream]


def _from_responses(answer: Response) -> Heard:
    _nothing_unknown(answer, {"parsed", "parsed_arguments"})
    thoughts = [item for item in answer.output if item.type == "reasoning"]
    said = [part for item in answer.output if item.type == "message" for part in item.content]
    called = [item for item in answer.output if item.type == "function_call"]
    assert answer.usage is not None
    return Heard(
        text=answer.output_text,
        thinking="".join(part.text for item in thoughts for part in item.summary),
        seals=[item.encrypted_content or "" for item in thoughts],
        calls=[(item.name, json.loads(item.arguments)) for item in called],
        refusal="".join(part.refusal for part in said if part.type == "refusal"),
        finish=answer.incomplete_details.reason if answer.incomplete_details else answer.status,
        used=_used_of_responses(answer.usage.model_dump()),
    )


def _used_of_responses(usage: Json) -> Used:
    details = usage["input_tokens_details"]
    cached, written = details["cached_tokens"], details["cache_write_tokens"]
    return Used(
        usage["input_tokens"] - cached - written,
        usage["output_tokens"],
        cached,
        written,
        usage["output_tokens_details"]["reasoning_tokens"],
    )


class _Anthropic:
    def __init__(self, client: anthropic.AsyncAnthropic) -> None:
        self._messages = client.messages
        self._create: Any = client.messages.create

    def official(self) -> Official:
        return Official(anthropic, self.streamed, self.whole, self.events)

    async def streamed(self, **body: Any) -> Heard:
        async with self._messages.stream(**(_MESSAGES | body)) as stream:
            async for event in stream:
                _nothing_unknown(event, set())
            return _from_anthropic(await stream.get_final_message())

    async def whole(self, **body: Any) -> Heard:
        answer: Message = await self._create(**(_MESSAGES | body))
        return _from_anthropic(answer)

    async def events(self, **body: Any) -> list[Any]:
        stream = await self._create(**(_MESSAGES | body), stream=True)
        return [event async for event in stream]


def _from_anthropic(answer: Message) -> Heard:
    _nothing_unknown(answer, {"parsed_output"})
    thoughts = [block for block in answer.content if block.type == "thinking"]
    usage = answer.usage
    details = usage.output_tokens_details
    text = "".join(block.text for block in answer.content if block.type == "text")
    refused = answer.stop_reason == "refusal"
    return Heard(
        text="" if refused else text,
        thinking="".join(block.thinking for block in thoughts),
        seals=[block.signature for block in thoughts],
        calls=[(b.name, b.input) for b in answer.content if b.type == "tool_use"],
        refusal=text if refused else "",
        finish=answer.stop_reason,
        used=Used(
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_input_tokens or 0,
            usage.cache_creation_input_tokens or 0,
            details.thinking_tokens if details else 0,
        ),
    )


def _nothing_unknown(value: object, known: set[str]) -> None:
    """Every field of what was parsed is one that the client's types have, or `known`."""
    if isinstance(value, BaseModel):
        extra = set(value.model_extra or ()) - known
        assert not extra, f"{type(value).__name__} knows nothing of {extra}"
        for name in value.model_fields_set:
            part = getattr(value, name)
            for each in cast("list[object]", part) if isinstance(part, list) else [part]:
                _nothing_unknown(each, known)
