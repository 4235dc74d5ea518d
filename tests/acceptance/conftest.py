"""Brain as its clients see it: HTTP (and gRPC), real tool services, nothing of its inside.

Above: the requirements. Below: `brain_testing`.
"""

from collections.abc import AsyncIterator, Callable

import pytest

from brain_testing.api import Api
from brain_testing.desk import Desk, open_desk
from brain_testing.plugin import StartBrain
from brain_testing.running import RunningBrain


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    """A tool service whose calls the test answers by hand."""
    async with open_desk() as opened:
        yield opened


@pytest.fixture
async def brain(start_brain: StartBrain, desk: Desk) -> RunningBrain:
    """A Brain with one tenant and one tool, `ask`, which waits at the desk."""
    return await start_brain(tools=[desk.binding("ask")])


@pytest.fixture
def api(brain: RunningBrain, connect: Callable[..., Api]) -> Api:
    """The one tenant's view of it."""
    return connect(brain)
