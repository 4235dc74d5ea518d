"""A stand-in for Daytona: its API. Above: tests. Below: `daytona_toolbox`, `machine`, `faults`.

The wire is as Daytona's SDK 0.226 speaks it. A sandbox is asked for by its id or its name, keeps
its files while it is stopped, and errors are `{"statusCode", "message", "code", "source"}`.
"""

import secrets
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from brain_testing.sandbox_servers.daytona_toolbox import Toolbox
from brain_testing.sandbox_servers.faults import Faults, Kind, Operation
from brain_testing.sandbox_servers.http import Refusal, application, cut, served
from brain_testing.sandbox_servers.machine import Machine

Json = dict[str, Any]
HOME = "/home/daytona"
_REFUSALS: Mapping[Kind, tuple[int, str, str]] = {
    "auth": (401, "Unauthorized", "UNAUTHORIZED"),
    "rate_limit": (429, "Rate limit exceeded", "RATE_LIMIT_EXCEEDED"),
    "quota": (403, "Total CPU quota exceeded. Maximum allowed: 10.", "FORBIDDEN"),
    "capacity": (400, "No available runners", "BAD_REQUEST"),
    "invalid": (400, "Snapshot nope not found", "BAD_REQUEST"),
    "error": (500, "Internal server error", "INTERNAL_SERVER_ERROR"),
    "lost_answer": (502, "Bad gateway", "BAD_GATEWAY"),
}


class DaytonaSandbox:
    """One sandbox: what it was asked to be, its state, and the machine that it is."""

    def __init__(self, asked: Json) -> None:
        self.id = str(uuid.uuid4())
        self.name: str = asked.get("name") or self.id
        self.asked = asked
        self.state = "creating"
        network = not asked.get("networkBlockAll")
        self.machine = Machine(HOME, env=asked.get("env"), network=network)

    def shown(self, url: str) -> Json:
        """The answer to whoever makes it or looks at it."""
        asked = self.asked
        return {
            **_SIZES,
            "id": self.id,
            "name": self.name,
            "env": asked.get("env") or {},
            "labels": asked.get("labels") or {},
            "networkBlockAll": bool(asked.get("networkBlockAll")),
            "state": self.state,
            "toolboxProxyUrl": f"{url}/toolbox",
            "createdAt": datetime.now(UTC).isoformat(),
        }


class DaytonaServer:
    """`async with daytona_server() as server:`; `server.env` is what points the SDK here."""

    def __init__(self) -> None:
        self.key = "dtn_" + secrets.token_hex(20)
        self.faults = Faults()
        self.created: list[Json] = []
        self.env: dict[str, str] = {}
        self.sandboxes: dict[str, DaytonaSandbox] = {}
        self.url = ""
        self.toolbox = Toolbox(self.key, self.sandboxes, self.faults)

    async def lose(self, sandbox: str) -> None:
        """End a sandbox, as the provider does by itself."""
        found = self.sandboxes.pop(sandbox)
        found.state = "destroyed"
        await found.machine.end()

    def app(self) -> web.Application:
        """Its routes."""
        app = application()
        app.router.add_post("/api/sandbox", self._create)
        app.router.add_get("/api/sandbox", self._list)
        app.router.add_get("/api/sandbox/{id}", self._look)
        app.router.add_delete("/api/sandbox/{id}", self._end)
        app.router.add_post("/api/sandbox/{id}/start", self._start)
        self.toolbox.add_routes(app)
        return app

    async def close(self) -> None:
        """End all sandboxes."""
        for sandbox in tuple(self.sandboxes):
            await self.lose(sandbox)

    async def _create(self, request: web.Request) -> web.Response:
        kind = await self._checked(request, "create")
        asked = await request.json()
        if any(each.name == asked.get("name") for each in self.sandboxes.values()):
            raise _error(409, f"Sandbox with name {asked['name']} already exists", "CONFLICT")
        sandbox = DaytonaSandbox(asked)
        self.created.append(asked)
        await sandbox.machine.__aenter__()
        sandbox.state = "started"
        self.sandboxes[sandbox.id] = sandbox
        return self._answered(request, kind, sandbox)

    async def _list(self, request: web.Request) -> web.Response:
        await self._checked(request, "find")
        shown = [each.shown(self.url) for each in self.sandboxes.values()]
        return web.json_response({"items": shown, "nextCursor": None})

    async def _look(self, request: web.Request) -> web.Response:
        named = not any(each == request.match_info["id"] for each in self.sandboxes)
        kind = await self._checked(request, "find" if named else "look")
        return self._answered(request, kind, self._sandbox(request))

    async def _start(self, request: web.Request) -> web.Response:
        kind = await self._checked(request, "look")
        sandbox = self._sandbox(request)
        sandbox.state = "started"
        return self._answered(request, kind, sandbox)

    async def _end(self, request: web.Request) -> web.Response:
        kind = await self._checked(request, "end")
        sandbox = self._sandbox(request)
        await self.lose(sandbox.id)
        return self._answered(request, kind, sandbox)

    async def _checked(self, request: web.Request, operation: Operation) -> Kind | None:
        if request.headers.get("Authorization") != f"Bearer {self.key}":
            raise _error(*_REFUSALS["auth"])
        kind = await self.faults.take(operation)
        if kind is not None and kind not in {"lost_answer", "cut"}:
            raise _error(*_REFUSALS[kind])
        return kind

    def _sandbox(self, request: web.Request) -> DaytonaSandbox:
        asked = request.match_info["id"]
        for sandbox in self.sandboxes.values():
            if asked in (sandbox.id, sandbox.name):
                return sandbox
        raise _error(404, f"Sandbox with ID or name {asked} not found", "NOT_FOUND")

    def _answered(
        self, request: web.Request, kind: Kind | None, sandbox: DaytonaSandbox
    ) -> web.Response:
        if kind == "cut":
            cut(request)
        if kind == "lost_answer":
            raise _error(*_REFUSALS[kind])
        return web.json_response(sandbox.shown(self.url))


@asynccontextmanager
async def daytona_server() -> AsyncGenerator[DaytonaServer]:
    """A Daytona of one's own, while the block runs."""
    server = DaytonaServer()
    async with served(server.app()) as url:
        server.url = url
        server.env = {"DAYTONA_API_KEY": server.key, "DAYTONA_API_URL": f"{url}/api"}
        try:
            yield server
        finally:
            server.faults.release()
            await server.close()


_SIZES: Json = {
    "organizationId": "org",
    "user": "daytona",
    "public": False,
    "kvm": False,
    "target": "stand-in",
    "cpu": 1,
    "gpu": 0,
    "memory": 1,
    "disk": 3,
}


def _error(status: int, message: str, code: str) -> Refusal:
    body = {"statusCode": status, "message": message, "code": code, "source": "DAYTONA_API"}
    return Refusal(status, body)
