"""A tool caller against scripted MCP servers, over either event loop."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
import uvloop

from brain_testing.tool_driver import ToolDriver


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Brain runs on uvloop where it can, and the two treat broken connections differently."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture
async def driver() -> AsyncIterator[ToolDriver]:
    async with ToolDriver() as driver:
        yield driver
