"""Each provider by its real SDK, against its stand-in. Below: brain_testing."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from brain_testing.sandbox_servers.stand_in import STAND_INS, StandIn
from brain_testing.sandbox_servers.written import Written
from sandbox.provider import Provider, Setup
from sandbox.registry import opened

OpenProvider = Callable[..., Awaitable[Provider]]


@pytest.fixture(params=list(STAND_INS))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
async def stand_in(name: str) -> AsyncGenerator[StandIn]:
    async with STAND_INS[name]() as server:
        yield server


@pytest.fixture
async def open_provider(
    name: str, stand_in: StandIn, tmp_path: Path
) -> AsyncGenerator[OpenProvider]:
    """Opens the provider as the service does, with more of its variables or other settings."""
    async with AsyncExitStack() as stack:

        async def open_one(
            *, network: bool = False, longest: int = 3600, env: Mapping[str, str] | None = None
        ) -> Provider:
            variables = {**stand_in.env, **(env or {})}
            setup = Setup(env=variables, data=tmp_path, network=network, longest_seconds=longest)
            return await stack.enter_async_context(opened(name, setup))

        yield open_one


@pytest.fixture
async def provider(open_provider: OpenProvider) -> Provider:
    return await open_provider()


@pytest.fixture
def written() -> Written:
    return Written()
