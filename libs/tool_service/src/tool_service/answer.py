"""Runs a tool and answers as it goes. Above: `app`. Below: `tool`, ASGI.

A call that answers soon is answered with JSON. One that reports progress, or takes long, is
answered with SSE, so that Brain has the headers in time; a comment every few seconds keeps the
connection from looking dead. When the client goes, the tool's function is cancelled.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Literal

import structlog
from msgspec import Struct
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tool_service.call import Call, Envelope
from tool_service.metrics import Metrics
from tool_service.result import Outcome, Result, encode, failure
from tool_service.tool import Opened, Tool, place

_WAITING_PROGRESS = 16
_JSON = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
_SSE = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
_COMMENT = b":\n\n"
_FRAME_BYTES = 128  # what a stream adds to a result
_log = structlog.get_logger(__name__)


class Pace(Struct, frozen=True):
    """When an answer begins to stream, and how often a silent stream shows that it lives.

    In seconds. Brain waits 30 for the headers; proxies often close what is silent for 60.
    """

    stream_after: float = 2.0
    comment_every: float = 8.0


class _Progress(Struct, frozen=True):
    event: bytes


class _End(Struct, frozen=True):
    result: bytes


class Answer(Response):
    """The answer to one call."""

    def __init__(
        self,
        tool: Tool,
        envelope: Envelope,
        opened: Opened,
        metrics: Metrics,
        pace: Pace,
        traceparent: str | None,
        ended: Callable[[], None],
    ) -> None:
        super().__init__()
        self._tool = tool
        self._call = Call(envelope, self._report, traceparent)
        self._opened = opened
        self._metrics = metrics
        self._pace = pace
        self._ended = ended
        self._out: asyncio.Queue[_Progress | _End] = asyncio.Queue(_WAITING_PROGRESS)
        self._room = tool.max_output_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        call = self._call
        structlog.contextvars.bind_contextvars(
            tool=self._tool.name, call_id=call.call_id, session_id=call.session_id, **self._trace()
        )
        await self._until_gone(receive, send)

    async def _until_gone(self, receive: Receive, send: Send) -> None:
        answering = asyncio.create_task(self._answer(send))
        gone = asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _end(gone)
            await _end(answering)

    async def _answer(self, send: Send) -> None:
        running = asyncio.create_task(self._run())
        try:
            first = await self._next(self._pace.stream_after)
            if isinstance(first, _End):
                await _send_json(send, first.result)
            else:
                await send({"type": "http.response.start", "status": 200, "headers": _SSE})
                await self._stream(first, send)
        finally:
            await _end(running)

    async def _run(self) -> None:
        began = time.monotonic()
        outcome: Outcome | Literal["cancelled"] = "cancelled"
        running = self._metrics.running.labels(self._tool.name)
        running.inc()
        try:
            result, encoded = self._fitting(await self._tool.run(self._call, self._opened))
            outcome = result.outcome
        finally:  # before the answer is out: whoever has read it finds it counted
            running.dec()
            self._ended()
            took = time.monotonic() - began
            self._metrics.seconds.labels(self._tool.name, outcome).observe(took)
            _log.info("call", outcome=outcome, ms=round(took * 1000))
        await self._out.put(_End(encoded))

    async def _stream(self, item: _Progress | None, send: Send) -> None:
        while True:
            await _chunk(send, _COMMENT if item is None else item.event)
            following = await self._next(self._pace.comment_every)
            if isinstance(following, _End):
                await _chunk(send, _event(b"result", following.result), more=False)
                return
            item = following

    async def _next(self, seconds: float) -> _Progress | _End | None:
        """What comes next, or None if nothing does for so long."""
        try:
            async with asyncio.timeout(seconds):
                return await self._out.get()
        except TimeoutError:
            return None

    async def _report(self, payload: bytes) -> None:
        """Stream a progress payload, as long as it leaves half of the room to the result."""
        event = _event(b"progress", payload)
        if self._room - len(event) >= self._tool.max_output_bytes // 2:
            self._room -= len(event)
            await self._out.put(_Progress(event))

    def _fitting(self, result: Result) -> tuple[Result, bytes]:
        """The result, or an error in its place if it has no JSON or too much of it."""
        try:
            encoded = encode(result)
        except (TypeError, ValueError) as error:
            _log.error("result_without_json", error=place(error))
            result = failure("The tool did its work, but its result is no JSON.", unknown=True)
            return result, encode(result)
        if len(encoded) > self._room - _FRAME_BYTES:
            result = failure(
                f"The tool did its work, but its result has {len(encoded)} bytes, more than fit."
            )
            return result, encode(result)
        return result, encoded

    def _trace(self) -> dict[str, str]:
        parts = (self._call.traceparent or "").split("-")
        return {"trace_id": parts[1]} if len(parts) == 4 and parts[1].isalnum() else {}


async def _gone(receive: Receive) -> None:
    """Return once the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _end(task: "asyncio.Task[Any]") -> None:
    """Cancel a task and let it clean up; what it raised is raised."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.result()


async def _send_json(send: Send, body: bytes) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [*_JSON, length]})
    await send({"type": "http.response.body", "body": body})


async def _chunk(send: Send, data: bytes, *, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": more})


def _event(name: bytes, data: bytes) -> bytes:
    return b"event: " + name + b"\ndata: " + data + b"\n\n"
