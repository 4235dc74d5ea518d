"""The model and the tools of a played session. Above: `player`. Below: the harness's Protocols."""

import asyncio
from collections.abc import AsyncGenerator, Callable

from msgspec import Raw

from brain.engine.model.protocol import Answer, Delta, Failure, Model, ModelRequest
from brain.engine.tool import outcome
from brain.engine.tool.protocol import ToolCall
from brain_core.content import ToolResult
from brain_core.usage import Usage
from brain_testing.dialect_requests import refusals

MODEL = "test/any"


class Bug(Exception):
    """Raised by a model, which no model ought to do."""


Piece = Delta | Answer | Failure | Bug | None
"""What a model says next; None: its stream ends there, without an end of the answer."""


class _Call:
    """A model call that goes on."""

    def __init__(self) -> None:
        self.pieces: asyncio.Queue[Piece] = asyncio.Queue()
        self.used = Usage()


class PlayedModel:
    """Says what it is told. `refused` is why a provider would have refused a request."""

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []
        self.refused: list[str] = []
        self.call: _Call | None = None
        self._calls: list[_Call] = []

    @property
    def used(self) -> Usage:
        """What all calls have said that they used."""
        return sum((call.used for call in self._calls), Usage())

    def say(self, piece: Piece) -> None:
        """Go on with the call that waits, if there is one."""
        if self.call is not None:
            self.call.pieces.put_nowait(piece)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Answer | Failure, None]:
        self.requests.append(request)
        self.refused += refusals(request)
        call = self.call = _Call()
        self._calls.append(call)
        try:
            while (piece := await call.pieces.get()) is not None:
                if isinstance(piece, Bug):
                    raise Bug
                if piece.usage is not None and piece.usage != Usage():
                    call.used = piece.usage
                yield piece
                if not isinstance(piece, Delta):
                    return
        finally:
            if self.call is call:
                self.call = None


class OneModel:
    """Implements `Models`: whatever is asked for is the same one."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def find(self, model_id: str) -> Model | None:  # noqa: ARG002
        return self._model

    def names(self) -> tuple[str, ...]:
        return (MODEL,)


class _RunningCall:
    """Implements `RunningCall`."""

    def __init__(self, ended: Callable[["_RunningCall"], None]) -> None:
        self._result: asyncio.Future[ToolResult] = asyncio.get_running_loop().create_future()
        self._ended = ended

    def end(self, result: ToolResult) -> None:
        if not self._result.done():
            self._result.set_result(result)
            self._ended(self)

    async def result(self) -> ToolResult:
        return await asyncio.shield(self._result)

    def interrupt(self) -> None:
        self.end(outcome.interrupted(sent=True))


class PlayedTools:
    """Implements `ToolCaller`. `started` counts the calls by their ids."""

    def __init__(self) -> None:
        self.running: list[_RunningCall] = []
        self.started: list[str] = []

    def start(self, call: ToolCall, on_progress: Callable[[Raw], None]) -> _RunningCall:  # noqa: ARG002
        running = _RunningCall(self.running.remove)
        self.running.append(running)
        self.started.append(call.call_id)
        return running

    def end(self, number: int, result: ToolResult) -> None:
        """End one of the calls that run, if there is any."""
        if self.running:
            self.running[number % len(self.running)].end(result)

    def forget(self, session_id: str) -> None:
        """There is nothing to let go of."""

    def died(self) -> None:
        """Nobody waits for the calls that run any more."""
        self.running.clear()
