"""The HTTP side of a tool service. Above: uvicorn. Below: `tool`, Starlette.

A call that answers soon is answered with JSON. One that reports progress, or takes long, is
answered with SSE, so that Brain has the headers in time; a comment every few seconds keeps the
connection from looking dead. When the client goes, the tool's function is cancelled.
"""

import asyncio
import hmac
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import msgspec
import structlog
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tool_service.call import BadCall, Call, Envelope, read_call
from tool_service.result import Result, encode
from tool_service.tool import Tool

MAX_BODY_BYTES = 8 * 1024 * 1024
STREAM_AFTER_SECONDS = 2.0
COMMENT_EVERY_SECONDS = 8.0
REMEMBERED_CALLS = 100_000

_JSON = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
_SSE = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
_log = structlog.get_logger(__name__)


def create_app(tools: Mapping[str, Tool], token: str | None) -> Starlette:
    """The service's routes. With no token, anyone who reaches it may call."""
    calls = _Calls(tools, token)
    return Starlette(
        routes=[
            Route("/healthz", _healthz, methods=["GET"]),
            Route("/tools/{name}", calls.handle, methods=["POST"]),
        ]
    )


async def _healthz(_request: Request) -> Response:
    return Response(b'{"status":"ok"}', media_type="application/json")


class _Calls:
    """Answers calls, each call id once."""

    def __init__(self, tools: Mapping[str, Tool], token: str | None) -> None:
        self._tools = tools
        self._expected = None if token is None else f"Bearer {token}".encode()
        self._seen: OrderedDict[str, None] = OrderedDict()

    async def handle(self, request: Request) -> Response:
        if not self._allowed(request):
            return _refuse(401, "The bearer token is missing or wrong.")
        tool = self._tools.get(request.path_params["name"])
        if tool is None:
            return _refuse(404, "There is no such tool here.")
        try:
            return self._begin(tool, read_call(await _body(request)))
        except _TooLarge:
            return _refuse(413, f"The body has more than {MAX_BODY_BYTES} bytes.")
        except (BadCall, ClientDisconnect) as error:
            return _refuse(400, str(error))

    def _begin(self, tool: Tool, envelope: Envelope) -> Response:
        if not self._first_time(envelope.call_id):
            return _refuse(409, "This call was delivered before; a call is done once.")
        _log.info("call", tool=tool.name, call_id=envelope.call_id, session_id=envelope.session_id)
        return _Answer(tool, envelope)

    def _allowed(self, request: Request) -> bool:
        if self._expected is None:
            return True
        given = request.headers.get("authorization", "").encode("latin-1")
        return hmac.compare_digest(given, self._expected)

    def _first_time(self, call_id: str) -> bool:
        if call_id in self._seen:
            return False
        self._seen[call_id] = None
        if len(self._seen) > REMEMBERED_CALLS:
            self._seen.popitem(last=False)
        return True


class _TooLarge(Exception):
    """The body is over the limit."""


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise _TooLarge
    return bytes(body)


def _refuse(status: int, detail: str) -> Response:
    return Response(
        msgspec.json.encode({"detail": detail}), status_code=status, media_type="application/json"
    )


class _Answer(Response):
    """Runs a tool and answers as it goes."""

    def __init__(self, tool: Tool, envelope: Envelope) -> None:
        super().__init__()
        self._tool = tool
        self._envelope = envelope
        self._progress: asyncio.Queue[Any] = asyncio.Queue()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        call = Call(self._envelope, self._progress.put)
        running = asyncio.create_task(self._tool.run(call, self._envelope.arguments))
        leaving = asyncio.create_task(_gone(receive, running))
        try:
            await self._answer(running, send)
        except asyncio.CancelledError:
            if not running.cancelled():
                raise
            _log.info("call_cancelled", tool=self._tool.name, call_id=self._envelope.call_id)
        finally:
            leaving.cancel()
            running.cancel()

    async def _answer(self, running: "asyncio.Task[Result]", send: Send) -> None:
        first = asyncio.create_task(self._progress.get())
        try:
            await asyncio.wait(
                {running, first},
                timeout=STREAM_AFTER_SECONDS,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if running.done() and not first.done():
                await _send_json(send, encode(running.result()))
                return
            await send({"type": "http.response.start", "status": 200, "headers": _SSE})
            await self._stream(running, first, send)
        finally:
            first.cancel()

    async def _stream(
        self, running: "asyncio.Task[Result]", waiting: "asyncio.Task[Any]", send: Send
    ) -> None:
        while True:
            await asyncio.wait(
                {running, waiting},
                timeout=COMMENT_EVERY_SECONDS,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if waiting.done():
                await _chunk(send, _event(b"progress", msgspec.json.encode(waiting.result())))
                waiting = asyncio.create_task(self._progress.get())
            elif running.done():
                waiting.cancel()
                await _chunk(send, _event(b"result", encode(running.result())), more=False)
                return
            else:
                await _chunk(send, b": still here\n\n")


async def _gone(receive: Receive, running: "asyncio.Task[Result]") -> None:
    """Cancel the tool once its client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
    running.cancel()


async def _send_json(send: Send, body: bytes) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [*_JSON, length]})
    await send({"type": "http.response.body", "body": body})


async def _chunk(send: Send, data: bytes, *, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": more})


def _event(name: bytes, data: bytes) -> bytes:
    return b"event: " + name + b"\ndata: " + data + b"\n\n"
