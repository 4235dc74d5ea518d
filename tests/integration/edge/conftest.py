"""A real edge in front of an engine that the test scripts.

The tests of a module share one event loop, and most of them one edge: starting and stopping a
server takes longer than they do.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest_asyncio

from brain_testing.api import Api
from brain_testing.scripted_brain import ScriptedBrain, scripted_brain

StartScripted = Callable[..., Awaitable[ScriptedBrain]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_brain() -> AsyncGenerator[ScriptedBrain]:
    async with scripted_brain() as brain:
        yield brain


@pytest_asyncio.fixture(loop_scope="module")
async def brain(shared_brain: ScriptedBrain) -> ScriptedBrain:
    """The module's edge and engine, the engine's script blank again."""
    shared_brain.engine.reset()
    return shared_brain


@pytest_asyncio.fixture(loop_scope="module")
async def api(brain: ScriptedBrain) -> AsyncGenerator[Api]:
    """The tenant `local`'s view of `brain`."""
    async with Api(brain.url, "key-of-local") as api:
        yield api


@pytest_asyncio.fixture(loop_scope="module")
async def start_scripted() -> AsyncGenerator[StartScripted]:
    """Starts an edge and an engine of the test's own: `await start_scripted(engine_key="k")`."""
    async with AsyncExitStack() as stack:

        async def start(**settings: Any) -> ScriptedBrain:
            return await stack.enter_async_context(scripted_brain(**settings))

        yield start
