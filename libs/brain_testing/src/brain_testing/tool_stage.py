"""One Brain on which every case of the table can be played, through its HTTP API.

Above: the conformance suite. Below: `tool_cases` (what happens), `tool_server` (a service of its
own for each case), `running` (Brain). A case is a session with one tool and one message; the model
calls that tool with the case's arguments and notes what it is then told.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from brain.engine.model.protocol import Answer, ModelRequest, RequestedCall, ToolTurn
from brain.wiring import Tuning
from brain_core.content import TextBlock
from brain_core.usage import Usage
from brain_testing.api import Api, Frame
from brain_testing.desk import within
from brain_testing.reading import read_until
from brain_testing.running import RunningBrain, Setup, running_brain
from brain_testing.scripted_model import Known
from brain_testing.tool_cases import Case
from brain_testing.tool_server import ToolServer

TOKEN = "t0k3n-of-the-service"
_PATH = "/tools/test"
_T = TypeVar("_T")


class ResultEvent(Struct, frozen=True):
    """The data of a `tool.result` event, its JSON values as they came."""

    call_id: str
    name: str
    content: list[dict[str, Any]]
    is_error: bool
    unknown_outcome: bool
    structured_content: Raw | UnsetType = UNSET
    code: str | None = None


@dataclass(frozen=True)
class Seen:
    """What came of a case: `told` is what the model read, `progress` what clients did."""

    session_id: str
    calls: list[str]
    results: list[ResultEvent]
    progress: tuple[str, ...]
    told: ToolTurn
    service: ToolServer


class _Data(Struct, frozen=True):
    data: Raw


class _Progress(Struct, frozen=True):
    call_id: str
    progress: Raw


class RecordingModel:
    """A model that calls the session's only tool, with arguments that are decided by its name."""

    def __init__(self) -> None:
        self.arguments: dict[str, str] = {}
        self.told: dict[str, ToolTurn] = {}

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Answer, None]:
        last = request.turns[-1]
        if isinstance(last, ToolTurn):
            self.told[last.call_id] = last
            yield Answer((TextBlock("Noted."),), "end_turn", Usage())
        else:
            name = request.tools[0].name
            yield Answer((RequestedCall(name, self.arguments[name]),), "tool_calls", Usage())


class Stage:
    """A Brain, and a service for each case."""

    def __init__(
        self, api: Api, model: RecordingModel, services: Sequence[tuple[Case, ToolServer]]
    ) -> None:
        self._api = api
        self._model = model
        self._services = {case.name: (_tool(n), server) for n, (case, server) in _counted(services)}

    async def play(self, case: Case) -> Seen:
        """Play one case to the end of its turn."""
        tool, service = self._services[case.name]
        self._model.arguments[tool] = case.arguments
        session_id = await self._api.create(tool, model="recording/model")
        async with self._api.follow(session_id) as frames:
            await within(anext(frames))  # `session.state`: from here on nothing is missed
            await self._api.send(session_id, case.name)
            seen = await within(read_until(frames, "turn.completed"))
        results = [_decode(frame, ResultEvent) for frame in _of(seen, "tool.result")]
        return Seen(
            session_id=session_id,
            calls=[frame.data["data"]["call_id"] for frame in _of(seen, "tool.call")],
            results=results,
            progress=tuple(
                bytes(_decode(frame, _Progress).progress).decode()
                for frame in _of(seen, "tool.progress")
            ),
            told=self._model.told[results[0].call_id],
            service=service,
        )


@asynccontextmanager
async def open_stage(cases: Sequence[Case]) -> AsyncGenerator[Stage]:
    """A stage for these cases, while the block runs."""
    async with AsyncExitStack() as stack:
        services = [
            (case, await stack.enter_async_context(ToolServer(*case.script))) for case in cases
        ]
        model = RecordingModel()
        setup = Setup(
            tools=[_binding(_tool(n), *service) for n, service in _counted(services)],
            env={"TOOL_TOKEN": TOKEN},
            # Its window is without limit: what it is told is never summed up before it is noted.
            tuning=Tuning(models={"recording": model}, known=Known()),
        )
        brain: RunningBrain = await stack.enter_async_context(running_brain(setup))
        api = await stack.enter_async_context(Api(brain.url, brain.key))
        yield Stage(api, model, services)


def _counted(
    services: Sequence[tuple[Case, ToolServer]],
) -> "enumerate[tuple[Case, ToolServer]]":
    return enumerate(services)


def _tool(number: int) -> str:
    return f"case_{number}"


def _binding(name: str, case: Case, server: ToolServer) -> dict[str, Any]:
    return {
        "name": name,
        "description": case.name,
        "input_schema": {"type": "object"},
        "url": server.url(_PATH),
        "tenants": ["local"],
        "token_env": "TOOL_TOKEN",
        **case.binding,
    }


def _of(frames: Sequence[Frame], kind: str) -> list[Frame]:
    return [frame for frame in frames if frame.event == kind]


def _decode(frame: Frame, kind: type[_T]) -> _T:
    return msgspec.json.decode(msgspec.json.decode(frame.text, type=_Data).data, type=kind)
