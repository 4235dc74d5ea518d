"""What answers in a Daytona sandbox: sessions, their commands' logs, files.

Above: `daytona`. Below: `machine`, `faults`. A session runs its commands in a shell. As Daytona's
own daemon does, this one reads what a command writes line by line: a line comes when it is whole,
the last one gets the newline that it lacks, NUL bytes are dropped. Lines of both streams go into
one log, each behind a marker, and a WebSocket sends that log from its start.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from aiohttp import BodyPartReader, web

from brain_testing.sandbox_servers.faults import Faults, Kind
from brain_testing.sandbox_servers.http import Refusal, cut
from brain_testing.sandbox_servers.machine import Machine, Running

Json = dict[str, Any]
_MARKERS = {"stdout": b"\1\1\1", "stderr": b"\2\2\2"}
_REFUSALS: Mapping[Kind, tuple[int, str, str]] = {
    "auth": (401, "Unauthorized", "UNAUTHORIZED"),
    "rate_limit": (429, "Rate limit exceeded", "RATE_LIMIT_EXCEEDED"),
    "invalid": (400, "invalid request body", "BAD_REQUEST"),
    "error": (500, "internal server error", "INTERNAL_SERVER_ERROR"),
}
_SESSION = "/toolbox/{id}/process/session"


class Sandbox(Protocol):
    """What the toolbox knows of its sandbox."""

    @property
    def machine(self) -> Machine: ...

    @property
    def state(self) -> str: ...


class _Command:
    """A command and its log."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.log = b""
        self.ended = False
        self.changed = asyncio.Condition()
        self.gathering = asyncio.create_task(self._gather())

    async def _gather(self) -> None:
        open_lines = {"stdout": b"", "stderr": b""}
        async for stream, piece in self.running.output():
            *whole, open_lines[stream] = (open_lines[stream] + piece).split(b"\n")
            await self._add(stream, whole)
        for stream, line in open_lines.items():
            await self._add(stream, [line] if line else [])
        async with self.changed:
            self.ended = True
            self.changed.notify_all()

    async def _add(self, stream: str, lines: list[bytes]) -> None:
        async with self.changed:
            for line in lines:
                self.log += _MARKERS[stream] + line.replace(b"\0", b"") + b"\n"
            self.changed.notify_all()

    async def after(self, offset: int) -> bytes:
        """What is in the log behind an offset, or nothing once it is whole."""
        async with self.changed:
            await self.changed.wait_for(lambda: len(self.log) > offset or self.ended)
            return self.log[offset:]


class Toolbox:
    """Answers for these sandboxes."""

    def __init__(self, key: str, sandboxes: Mapping[str, Sandbox], faults: Faults) -> None:
        self._key = key
        self._sandboxes = sandboxes
        self._faults = faults
        self.sessions: dict[str, dict[str, _Command]] = {}

    def add_routes(self, app: web.Application) -> None:
        """Its routes."""
        checked, one = self._checked, _SESSION + "/{session}"
        app.router.add_post(_SESSION, checked(self._create_session))
        app.router.add_delete(one, checked(self._delete_session))
        app.router.add_post(one + "/exec", checked(self._execute))
        app.router.add_get(one + "/command/{command}/logs", checked(self._logs))
        app.router.add_post("/toolbox/{id}/files/bulk-upload", checked(self._upload))

    def _checked(
        self, handler: Callable[[web.Request, Machine], Awaitable[web.StreamResponse]]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def answer(request: web.Request) -> web.StreamResponse:
            if request.headers.get("Authorization") != f"Bearer {self._key}":
                raise _error(*_REFUSALS["auth"])
            sandbox = self._sandboxes.get(request.match_info["id"])
            if sandbox is None:
                raise _error(404, "Sandbox not found", "NOT_FOUND", "DAYTONA_PROXY")
            if sandbox.state != "started":
                raise _error(400, "Sandbox is not started", "BAD_REQUEST", "DAYTONA_PROXY")
            return await handler(request, sandbox.machine)

        return answer

    async def _create_session(self, request: web.Request, _machine: Machine) -> web.Response:
        name = (await request.json())["sessionId"]
        self.sessions[name] = {}
        return web.Response(status=201)

    async def _delete_session(self, request: web.Request, _machine: Machine) -> web.Response:
        self._session(request)
        del self.sessions[request.match_info["session"]]
        return web.Response(status=204)

    async def _execute(self, request: web.Request, machine: Machine) -> web.Response:
        kind = await self._faults.take("execute")
        if kind is not None and kind in _REFUSALS:
            raise _error(*_REFUSALS[kind])
        session, asked = self._session(request), await request.json()
        assert asked.get("runAsync"), "the stand-in waits for no command"
        path = f"/tmp/{request.match_info['session']}.sh"  # the daemon sources a file, too
        await machine.write(path, asked["command"].encode())
        running = await machine.run(["/bin/sh", "-c", f". {path}"])
        session["1"] = _Command(running)
        if kind == "lost_answer":
            cut(request)
        return web.json_response({"cmdId": "1"}, status=202)

    async def _logs(self, request: web.Request, _machine: Machine) -> web.StreamResponse:
        command, offset = self._session(request)[request.match_info["command"]], 0
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        while piece := await command.after(offset):
            await socket.send_bytes(piece)
            offset += len(piece)
            if await self._faults.take("execute") == "cut":
                cut(request)
        await socket.close()
        return socket

    async def _upload(self, request: web.Request, machine: Machine) -> web.Response:
        kind = await self._faults.take("upload")
        if kind is not None and kind in _REFUSALS:
            raise _error(*_REFUSALS[kind])
        paths: dict[str, str] = {}
        async for part in await request.multipart():
            assert isinstance(part, BodyPartReader)
            field, data = part.name or "", bytes(await part.read())
            if field.endswith(".path"):
                paths[field.removesuffix(".path")] = data.decode()
            else:
                problem = await machine.write(paths[field.removesuffix(".file")], data)
                if problem is not None:
                    raise _error(400, problem, "BAD_REQUEST")
        if kind == "cut":
            cut(request)
        return web.json_response({})

    def _session(self, request: web.Request) -> dict[str, _Command]:
        name = request.match_info["session"]
        if name not in self.sessions:
            raise _error(404, "session not found", "PROCESS_NOT_FOUND")
        return self.sessions[name]


def _error(status: int, message: str, code: str, source: str = "DAYTONA_DAEMON") -> Refusal:
    return Refusal(
        status, {"statusCode": status, "message": message, "code": code, "source": source}
    )
