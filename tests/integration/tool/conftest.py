"""A tool caller against scripted services."""

from collections.abc import AsyncIterator

import pytest

from brain_testing.tool_driver import ToolDriver


@pytest.fixture
async def driver() -> AsyncIterator[ToolDriver]:
    async with ToolDriver() as driver:
        yield driver
