"""pytest fixtures for whoever tests against a running Brain."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from brain_testing.api import Api
from brain_testing.inbox import ask, inbox, operator
from brain_testing.postgres_fixtures import (
    own_server,
    postgres_database,
    postgres_server,
    postgres_url,
)
from brain_testing.running import RunningBrain, Setup, running_brain

__all__ = [
    "ask",
    "connect",
    "inbox",
    "operator",
    "own_server",
    "postgres_database",
    "postgres_server",
    "postgres_url",
    "start_brain",
]

StartBrain = Callable[..., Awaitable[RunningBrain]]


@pytest.fixture
async def start_brain() -> AsyncIterator[StartBrain]:
    """Starts a Brain: `await start_brain(tools=[…])`, with the fields of `Setup`."""
    async with AsyncExitStack() as stack:

        async def start(**setup: Any) -> RunningBrain:
            return await stack.enter_async_context(running_brain(Setup(**setup)))

        yield start


@pytest.fixture
async def connect() -> AsyncIterator[Callable[..., Api]]:
    """Opens a tenant's view of a Brain: `connect(brain)` or `connect(brain, "tenant")`."""
    async with AsyncExitStack() as stack:
        opened: list[Api] = []

        def open_api(brain: RunningBrain, tenant: str | None = None) -> Api:
            api = Api(brain.url, brain.keys[tenant] if tenant else brain.key)
            opened.append(api)
            return api

        yield open_api
        for api in opened:
            await stack.enter_async_context(api)
