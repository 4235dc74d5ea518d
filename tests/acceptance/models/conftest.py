"""Each test runs once for each wire format, against the scripted provider.

Below: `brain_testing.model_server`. Unless a test says otherwise, the provider must not have
refused any request: `stage.server.refused` is looked at in the end.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from brain_testing.model_server import DIALECTS, Dialect, Script
from brain_testing.model_server.stage import Play, ProviderStage, provider_stage


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> Dialect:
    return request.param


@pytest.fixture
async def play(dialect: Dialect) -> AsyncIterator[Play]:
    """Starts a Brain whose provider plays these scripts: `await play((Say("Hello."),))`."""
    stages: list[ProviderStage] = []
    async with AsyncExitStack() as stack:

        async def started(*scripts: Script, **model: Any) -> ProviderStage:
            stage = await stack.enter_async_context(provider_stage(dialect, *scripts, **model))
            stages.append(stage)
            return stage

        yield started
    for stage in stages:
        assert not stage.server.refused
