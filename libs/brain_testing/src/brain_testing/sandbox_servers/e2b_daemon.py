"""What answers in an E2B sandbox: commands by Connect RPC, files, its health.

Above: `e2b`. Below: `machine`, `faults`. A stream is frames of a flag byte, a length and JSON; the
last one has flag 2. As in E2B, output isn't kept for whoever connects later, a command goes on when
its caller goes, and a sandbox that is gone answers 502.
"""

import base64
import json
from collections.abc import Awaitable, Callable, Mapping
from signal import strsignal
from typing import Any, Protocol

from aiohttp import BodyPartReader, web

from brain_testing.sandbox_servers.faults import Faults, Kind
from brain_testing.sandbox_servers.http import Handler, cut
from brain_testing.sandbox_servers.machine import Machine, Running

Json = dict[str, Any]
_CODES: Mapping[Kind, tuple[int, str]] = {
    "auth": (401, "unauthenticated"),
    "rate_limit": (429, "resource_exhausted"),
    "invalid": (400, "invalid_argument"),
    "error": (500, "internal"),
}


class Sandbox(Protocol):
    """What the daemon knows of its sandbox."""

    @property
    def token(self) -> str: ...

    @property
    def machine(self) -> Machine: ...


_Handler = Callable[[Sandbox, web.Request], Awaitable[web.StreamResponse]]


def add_routes(app: web.Application, sandboxes: Mapping[str, Sandbox], faults: Faults) -> None:
    """Answer for these sandboxes; a request says in a header which it is for."""

    def checked(handler: _Handler) -> Handler:
        async def answer(request: web.Request) -> web.StreamResponse:
            sandbox = sandboxes.get(request.headers["E2b-Sandbox-Id"])
            if sandbox is None:
                gone = {"sandboxId": "", "message": "The sandbox was not found", "code": 502}
                return web.json_response(gone, status=502)
            if request.headers.get("X-Access-Token") != sandbox.token:
                return _failed("auth")
            return await handler(sandbox, request)

        return answer

    async def start(sandbox: Sandbox, request: web.Request) -> web.StreamResponse:
        return await _start(sandbox.machine, request, await faults.take("execute"))

    async def upload(sandbox: Sandbox, request: web.Request) -> web.StreamResponse:
        return await _upload(sandbox.machine, request, await faults.take("upload"))

    app.router.add_get("/health", checked(_health))
    app.router.add_post("/process.Process/Start", checked(start))
    app.router.add_post("/files", checked(upload))


async def _health(_sandbox: Sandbox, _request: web.Request) -> web.StreamResponse:
    return web.Response(status=204)


async def _start(machine: Machine, request: web.Request, kind: Kind | None) -> web.StreamResponse:
    if kind in _CODES:
        return _failed(kind)
    asked = json.loads((await request.read())[5:])["process"]
    argv = [asked["cmd"], *asked.get("args", [])]
    running = await machine.run(argv, cwd=asked.get("cwd"), env=asked.get("envs"))
    running.close_input()
    if kind == "lost_answer":
        cut(request)
    response = web.StreamResponse(headers={"Content-Type": "application/connect+json"})
    try:
        await response.prepare(request)
        await _send(response, {"start": {"pid": running.pid}})
        await _stream(running, request, response, kind == "cut")
    except ConnectionError:
        running.abandon()
    return response


async def _stream(
    running: Running, request: web.Request, response: web.StreamResponse, cut_off: bool
) -> None:
    async for stream, piece in running.output():
        await _send(response, {"data": {stream: base64.b64encode(piece).decode()}})
        if cut_off:
            cut(request)
    if request.transport is None or request.transport.is_closing():
        return
    code = running.exit_code or 0
    if code >= 0:
        end: Json = {"exitCode": code, "exited": True, "status": f"exit status {code}"}
    else:
        end = {"exitCode": -1, "status": f"signal: {(strsignal(-code) or '').lower()}"}
    await _send(response, {"end": end | ({"error": end["status"]} if code else {})})
    await response.write(_frame(2, {}))
    await response.write_eof()


async def _upload(machine: Machine, request: web.Request, kind: Kind | None) -> web.StreamResponse:
    if kind in _CODES:
        return _failed(kind)
    path, data = request.query["path"], b""
    if request.content_type.startswith("multipart/"):
        async for part in await request.multipart():
            assert isinstance(part, BodyPartReader)
            data = bytes(await part.read())
    else:
        data = await request.read()
    problem = await machine.write(path, data)
    if problem is not None:
        return web.json_response({"code": 500, "message": problem}, status=500)
    if kind == "cut":
        cut(request)
    name = path.rpartition("/")[2]
    return web.json_response([{"name": name, "type": "file", "path": path}])


async def _send(response: web.StreamResponse, event: Json) -> None:
    await response.write(_frame(0, {"event": event}))


def _frame(flags: int, message: Json) -> bytes:
    encoded = json.dumps(message).encode()
    return bytes([flags]) + len(encoded).to_bytes(4, "big") + encoded


def _failed(kind: Kind | None) -> web.Response:
    assert kind is not None
    status, code = _CODES[kind]
    return web.json_response({"code": code, "message": f"told to fail: {kind}"}, status=status)
