"""One Brain for all the cases of a worker, on the event loop that Brain runs on."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest_asyncio
import uvloop

from brain_testing.tool_cases import ALL_CASES
from brain_testing.tool_stage import Stage, open_stage


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """What the services play is the same on both loops; the tool layer's own tests run on both."""
    return {"uvloop": uvloop.new_event_loop}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> AsyncIterator[Stage]:
    """A Brain with a tool for each case."""
    async with open_stage(ALL_CASES) as opened:
        yield opened
