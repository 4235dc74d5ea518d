"""A Brain whose model, clock and price table are a test's own, and a tool that waits at a desk.

Above: tests of the loop. Below: `running`, `scripted_model`, `manual_clock`.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from brain.wiring import Tuning
from brain_testing.api import Api, Json
from brain_testing.desk import Desk, Serve, open_desk
from brain_testing.manual_clock import ManualClock
from brain_testing.running import RunningBrain, Setup, running_brain
from brain_testing.scripted_model import Known, ScriptedModel
from brain_testing.slow_log import SlowLog


class ModelStage:
    """What a test of the loop plays with. Its sessions use the model `test/any`."""

    def __init__(self, brain: RunningBrain, model: ScriptedModel, clock: ManualClock) -> None:
        self.brain = brain
        self.api = Api(brain.url, brain.key)
        self.model = model
        self.clock = clock

    async def create(self, *tools: str, **config: Any) -> str:
        """A new session's id."""
        return await self.api.create(*tools, model="test/any", **config)

    async def post(self, session_id: str, what: str, body: Json | None = None) -> Json:
        """What `POST /sessions/{id}/{what}` gives, which must be good."""
        answer = await self.api.http.post(f"/sessions/{session_id}/{what}", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def restart(self) -> None:
        """Stop the engine and start it again."""
        await self.brain.stop_engine()
        await self.brain.start_engine()
        await self.api.until_ready()


@asynccontextmanager
async def model_stage(
    model: ScriptedModel,
    *,
    known: Known | None = None,
    serve: Serve | None = None,
    log: SlowLog | None = None,
) -> AsyncGenerator[tuple[ModelStage, Desk]]:
    """A stage with a tool `ask`, which `serve` answers, or else the test at the desk."""
    clock = ManualClock()
    tuning = Tuning(clock=clock, models={"test": model}, known=known or Known())
    if log is not None:
        tuning = msgspec.structs.replace(tuning, around_log=log.around)
    async with open_desk() as desk:
        setup = Setup(tools=[desk.binding("ask", serve)], tuning=tuning)
        async with running_brain(setup) as brain:
            stage = ModelStage(brain, model, clock)
            async with stage.api:
                yield stage, desk
