"""A tool service over real HTTP, on a port of its own."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tool_service import Limits, Pace, ToolService

TOKEN = "the-token-of-the-test-service"
Start = Callable[[ToolService], Awaitable[httpx2.AsyncClient]]


@pytest.fixture
def service() -> ToolService:
    """With a pace at which a test sees what else takes seconds, and limits that it can reach."""
    return ToolService(
        "test",
        token_env="TEST_KEY",
        port=8090,
        pace=Pace(stream_after=0.05, comment_every=0.02),
        limits=Limits(running=3, remembered=5),
    )


@pytest.fixture
async def start(tmp_path: Path) -> AsyncGenerator[Start]:
    """Starts a service; gives a client that has its token."""
    async with AsyncExitStack() as stack:

        async def run(service: ToolService) -> httpx2.AsyncClient:
            url = await stack.enter_async_context(service.running(TOKEN, data=tmp_path / "data"))
            headers = {"Authorization": f"Bearer {TOKEN}"}
            client = httpx2.AsyncClient(base_url=url, headers=headers, trust_env=False)
            return await stack.enter_async_context(client)

        yield run


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
