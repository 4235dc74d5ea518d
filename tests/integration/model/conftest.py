"""Models against scripted providers, over either event loop."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
import uvloop

from brain_testing.model_driver import ModelDriver


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Brain runs on uvloop where it can, and the two treat broken connections differently."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture
async def driver() -> AsyncIterator[ModelDriver]:
    async with ModelDriver() as driver:
        yield driver
