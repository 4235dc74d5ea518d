"""A provider of models on a port of its own, in all three formats. Above: tests.

Below: `refusal`, the wire formats, aiohttp's server. A request is checked as the real provider
checks it; only a valid one takes the next script.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

import msgspec
from aiohttp import web
from msgspec import Struct

from brain_testing.desk import within
from brain_testing.model_server.anthropic_wire import AnthropicWire
from brain_testing.model_server.chat_wire import ChatWire
from brain_testing.model_server.errors import error_body, no_key
from brain_testing.model_server.parts import Happening, Told, told
from brain_testing.model_server.refusal import refusal
from brain_testing.model_server.responses_wire import ResponsesWire
from brain_testing.model_server.script import (
    Cut,
    Recorded,
    Say,
    Script,
    Status,
    Step,
    StreamError,
)
from brain_testing.model_server.strict import Dialect, Json
from brain_testing.scripted_model import Gate

KEY = "k3y-of-the-scripted-provider-0123456789"
_PATHS: dict[str, Dialect] = {
    "/v1/chat/completions": "openai-chat",
    "/v1/responses": "openai-responses",
    "/v1/messages": "anthropic-messages",
}
_OK: Script = (Say("ok"),)


class Asked(Struct, frozen=True):
    """A request that came. `refused` says why it got a 400 or a 401."""

    dialect: Dialect
    headers: dict[str, str]
    raw: bytes
    refused: str | None

    @property
    def body(self) -> Json:
        return msgspec.json.decode(self.raw)


class Wire(Protocol):
    """An answer in a wire format: the bytes of its events, and the whole as one object."""

    def begin(self) -> Iterator[bytes]: ...

    def happened(self, what: Happening) -> Iterator[bytes]: ...

    def end(self) -> Iterator[bytes]: ...

    def whole(self) -> Json: ...


_WIRES: dict[Dialect, Callable[[Told, Json], Wire]] = {
    "openai-chat": ChatWire,
    "openai-responses": ResponsesWire,
    "anthropic-messages": AnthropicWire,
}


class ModelServer:
    """Plays the scripts in the order given; after the last one, and for ever, `otherwise`.

    `requests` are all that came, in their order. A test whose requests must be valid asserts that
    `refused` is empty.
    """

    def __init__(self, *scripts: Script, otherwise: Script = _OK) -> None:
        self.url = ""
        self.requests: list[Asked] = []
        self._scripts = list(scripts)
        self._otherwise = otherwise
        self._arrived = asyncio.Condition()

    @property
    def refused(self) -> list[str]:
        """Why any request was refused."""
        return [each.refused for each in self.requests if each.refused is not None]

    def add(self, *scripts: Script) -> None:
        """Further scripts."""
        self._scripts += scripts

    def provider(self, api: Dialect, name: str = "test", **fields: Any) -> Json:
        """The entry of a host config's `models`; the variable `MODEL_KEY` must hold `KEY`."""
        base_url = self.url if api == "anthropic-messages" else f"{self.url}/v1"
        entry = {"provider": name, "api": api, "base_url": base_url, "api_key_env": "MODEL_KEY"}
        return {**entry, **fields}

    async def asked(self, times: int) -> None:
        """Wait until so many requests have come."""
        async with self._arrived:
            await within(self._arrived.wait_for(lambda: len(self.requests) >= times))

    async def handle(self, request: web.Request) -> web.StreamResponse:
        dialect = _PATHS[request.path]
        raw = await request.read()
        status, refused = _checked(dialect, request, raw)
        asked = Asked(dialect, {k.lower(): v for k, v in request.headers.items()}, raw, refused)
        self.requests.append(asked)
        async with self._arrived:
            self._arrived.notify_all()
        if refused is not None:
            return _error(dialect, Status(status, refused))
        script = self._scripts.pop(0) if self._scripts else self._otherwise
        return await _play(request, asked, script)


def _checked(dialect: Dialect, request: web.Request, raw: bytes) -> tuple[int, str | None]:
    key = request.headers.get("authorization")
    if dialect == "anthropic-messages":
        # Both ways are taken: the official client sends a bearer token, most others `x-api-key`.
        key = request.headers.get("x-api-key", key)
    key = None if key is None else key.removeprefix("Bearer ")
    if key != KEY:
        return 401, no_key(dialect, key)
    if dialect == "anthropic-messages" and "anthropic-version" not in request.headers:
        return 400, "anthropic-version: header is required"
    return 400, refusal(dialect, raw)


def _error(dialect: Dialect, status: Status) -> web.Response:
    body = status.body
    if body is None:
        whole = error_body(dialect, status.status, status.message)
        body = msgspec.json.encode(whole).decode()
    headers = {"content-type": status.content_type, **status.headers}
    return web.Response(status=status.status, body=body.encode(), headers=headers)


async def _play(request: web.Request, asked: Asked, script: Script) -> web.StreamResponse:
    first = script[0]
    if isinstance(first, Status):
        return _error(asked.dialect, first)
    if isinstance(first, Recorded):
        return web.Response(body=first.data, headers={"content-type": first.content_type})
    steps = [step for step in script if not isinstance(step, Status | Recorded)]
    return await _tell(request, asked, steps)


async def _tell(request: web.Request, asked: Asked, steps: list[Step]) -> web.StreamResponse:
    script = told(steps)
    wire = _WIRES[asked.dialect](script, asked.body)
    if not asked.body.get("stream"):
        return web.json_response(wire.whole())
    response = web.StreamResponse(headers={"content-type": "text/event-stream; charset=utf-8"})
    await response.prepare(request)
    for event in wire.begin():
        await response.write(event)
    for what in script.happenings():
        if isinstance(what, Gate):
            await what.pass_through()
        elif isinstance(what, Cut):
            _cut(request)
            return response
        else:
            for event in wire.happened(what):
                await response.write(event)
        if isinstance(what, StreamError):
            return response
    for event in wire.end():
        await response.write(event)
    return response


def _cut(request: web.Request) -> None:
    """Close the connection in the middle of the body: what was written still arrives."""
    if request.transport is not None:
        request.transport.close()


@asynccontextmanager
async def model_server(*scripts: Script, otherwise: Script = _OK) -> AsyncGenerator[ModelServer]:
    """A server that listens while the block runs."""
    server = ModelServer(*scripts, otherwise=otherwise)
    app = web.Application(client_max_size=64 * 1024 * 1024)
    for path in _PATHS:
        app.router.add_post(path, server.handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield server
    finally:
        await runner.cleanup()
