"""Models against scripted providers, over either event loop."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import pytest
import uvloop
from anthropic.types import message_create_params
from openai.types.chat import completion_create_params
from openai.types.responses import response_create_params
from pydantic import TypeAdapter

from brain_testing.model_driver import ANTHROPIC, CHAT, RESPONSES, ModelDriver
from brain_testing.raw_script import Read, Send, response
from brain_testing.tool_server import ToolServer

_TYPES: Mapping[str, Any] = {
    CHAT: completion_create_params.CompletionCreateParamsStreaming,
    RESPONSES: response_create_params.ResponseCreateParamsStreaming,
    ANTHROPIC: message_create_params.MessageCreateParamsStreaming,
}


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Brain runs on uvloop where it can, and the two treat broken connections differently."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture
async def driver() -> AsyncIterator[ModelDriver]:
    async with ModelDriver() as driver:
        yield driver


@pytest.fixture
def sent(driver: ModelDriver) -> Callable[..., Awaitable[Any]]:
    """Sends a request; gives its body, once the official SDK's type for it has taken it."""

    async def send(api: str, *request: Any, **how: Any) -> Any:
        async with ToolServer(Read(), Send(response("", status="500 Enough"))) as server:
            body = await driver.body(server, api, *request, **how)
        TypeAdapter(_TYPES[api]).validate_python(body)
        return body

    return send
