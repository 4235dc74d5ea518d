"""A whole Brain whose models are those of a scripted provider. Above: tests of models.

Below: `running`, `server`. Its clock stands still until the test moves it.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from brain.wiring import Tuning
from brain_testing.api import Api, Frame, Json
from brain_testing.desk import Desk, open_desk
from brain_testing.manual_clock import ManualClock
from brain_testing.model_server.conversation import conversation
from brain_testing.model_server.script import Say, Script
from brain_testing.model_server.server import KEY, ModelServer, model_server
from brain_testing.model_server.strict import Dialect
from brain_testing.running import RunningBrain, Setup, running_brain


class ProviderStage:
    """What a test of a dialect plays with. Its sessions use the model `test/m`."""

    def __init__(
        self, brain: RunningBrain, server: ModelServer, desk: Desk, clock: ManualClock
    ) -> None:
        self.api = Api(brain.url, brain.key)
        self.server = server
        self.desk = desk
        self.clock = clock

    async def create(self, *tools: str, **config: Any) -> str:
        """A new session's id."""
        return await self.api.create(*tools, model="test/m", **config)

    async def interrupt(self, session_id: str) -> None:
        """Interrupt the session; its turn has ended then."""
        answer = await self.api.http.post(f"/sessions/{session_id}/interrupt")
        assert answer.status_code == 200, answer.text

    async def send_until(
        self, session_id: str, content: Any, seen: Callable[[Frame], bool]
    ) -> list[Frame]:
        """Send a message and follow the session until this frame has been seen."""
        frames: list[Frame] = []
        async with self.api.follow(session_id) as stream:
            async for frame in stream:
                if not frames:
                    await self.api.send(session_id, content)
                frames.append(frame)
                if seen(frame):
                    return frames
        raise AssertionError(f"the stream ended: {[frame.event for frame in frames]}")

    async def send_and_retry(self, session_id: str, content: Any, seconds: float) -> list[Json]:
        """Send a message whose first model call fails, and let it be tried again after a time.

        Gives the turn's events.
        """
        frames = await self.send_until(session_id, content, lambda f: f.event == "model.retry")
        # Only now: during a call, the wait for the provider sleeps by the same clock.
        await self.clock.asleep(1)
        await self.clock.advance(seconds)
        before = frames[0].data["data"]["last_seq"]
        return await self.api.until_idle(session_id, after=before)

    def told(self, request: int = -1) -> list[str]:
        """What the model was told with a request, the last one unless another is meant."""
        return conversation(self.server.requests[request])


@asynccontextmanager
async def provider_stage(
    dialect: Dialect, *scripts: Script, **model: Any
) -> AsyncGenerator[ProviderStage]:
    """A stage with the tools `ask` and `look`; `model` is what the host config says of `m`."""
    clock = ManualClock()
    scripted = model_server(*scripts, otherwise=(Say("ok"),))
    async with open_desk() as desk, scripted as server:
        tools = [desk.binding("ask", input_schema=ASK), desk.binding("look")]
        setup = Setup(
            tools=tools,
            env={"MODEL_KEY": KEY},
            extra={"models": [server.provider(dialect, models={"m": model})]},
            tuning=Tuning(clock=clock),
        )
        async with running_brain(setup) as brain:
            stage = ProviderStage(brain, server, desk, clock)
            async with stage.api:
                yield stage


def streamed(kind: str, text: str) -> Callable[[Frame], bool]:
    """Whether a frame is a piece of the answer of this kind, with this text in it."""
    return lambda frame: (
        frame.event == "message.delta"
        and frame.data["data"]["kind"] == kind
        and text in frame.data["data"]["text"]
    )


Play = Callable[..., Awaitable[ProviderStage]]
"""Starts a stage of one dialect with these scripts; a fixture's type."""

ASK: Json = {
    "type": "object",
    "properties": {"n": {"type": "integer", "description": "A number, ≥ 0."}, "why": {}},
    "additionalProperties": False,
    "$comment": "All of it goes to the model.",
}
"""The schema of `ask`."""
