"""A tool service over real HTTP, on a port of its own."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx2
import pytest
import uvicorn

from tool_service import ToolService
from tool_service.app import create_app
from tool_service.serve import Server

TOKEN = "the-token-of-the-test-service"
Start = Callable[[ToolService], Awaitable[httpx2.AsyncClient]]


@pytest.fixture
def service() -> ToolService:
    return ToolService("test", token_env="TEST_KEY", port=8090)


@pytest.fixture
async def start() -> AsyncGenerator[Start]:
    """Starts a service; gives a client that has its token."""
    async with AsyncExitStack() as stack:

        async def run(service: ToolService) -> httpx2.AsyncClient:
            return await stack.enter_async_context(_served(service))

        yield run


@asynccontextmanager
async def _served(service: ToolService) -> AsyncGenerator[httpx2.AsyncClient]:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    app = create_app(service.tools, TOKEN)
    server = Server(uvicorn.Config(app, log_config=None, lifespan="off"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(base_url=url, headers=headers, trust_env=False) as client:
        yield client
    server.stop()
    await serving


@pytest.fixture
def call() -> Callable[..., dict[str, Any]]:
    """A call's body."""
    numbers = iter(range(1000))

    def make(**arguments: Any) -> dict[str, Any]:
        return {
            "tenant_id": "local",
            "session_id": "ses_1",
            "call_id": f"call_{next(numbers)}",
            "arguments": arguments,
        }

    return make
