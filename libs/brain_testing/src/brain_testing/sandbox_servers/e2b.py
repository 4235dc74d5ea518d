"""A stand-in for E2B: its API, and the daemon that it has in each sandbox.

Above: tests. Below: `e2b_daemon`, `machine`, `faults`. The wire is as E2B's SDK 2.63 speaks it:
JSON over REST with the key in `X-API-KEY`, errors as `{"code", "message"}`.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web

from brain_testing.sandbox_servers import e2b_daemon
from brain_testing.sandbox_servers.faults import Faults, Kind, Operation
from brain_testing.sandbox_servers.http import Refusal, application, cut, served
from brain_testing.sandbox_servers.machine import Machine

Json = dict[str, Any]
HOME = "/home/user"
_REFUSALS: Mapping[Kind, tuple[int, str]] = {
    "auth": (401, "Invalid API key"),
    "rate_limit": (429, "too many requests"),
    "quota": (429, "you have reached the maximum number of concurrent E2B sandboxes (20)"),
    "capacity": (503, "no node with enough free resources"),
    "invalid": (400, "Timeout cannot be greater than 1 hours"),
    "error": (500, "internal error"),
    "lost_answer": (502, "bad gateway"),
}


class E2bSandbox:
    """One sandbox: what it was asked to be, and the machine that it is."""

    def __init__(self, asked: Json) -> None:
        self.id = "i" + secrets.token_hex(10)
        self.token = secrets.token_hex(16)
        self.asked = asked
        self.began = time.time()
        network = asked.get("allow_internet_access", True)
        self.machine = Machine(HOME, env=asked["envVars"], network=network)

    def as_created(self) -> Json:
        """The answer to whoever makes it or connects to it."""
        return {
            "templateID": self.asked["templateID"],
            "sandboxID": self.id,
            "clientID": "stand-in",
            "envdVersion": "0.6.7",
            "envdAccessToken": self.token,
            "domain": None,
        }

    def as_listed(self) -> Json:
        """The answer to whoever looks at it."""
        more = {
            "state": "running",
            "startedAt": _time(self.began),
            "endAt": _time(self.began + self.asked["timeout"]),
            "metadata": self.asked["metadata"],
            "alias": "base",
        }
        return {**self.as_created(), **more, **_SIZES}


class E2bServer:
    """`async with e2b_server() as server:`; `server.env` is what points the SDK here."""

    def __init__(self) -> None:
        self.key = "e2b_" + secrets.token_hex(20)
        self.faults = Faults()
        self.sandboxes: dict[str, E2bSandbox] = {}
        self.created: list[Json] = []
        self.env: dict[str, str] = {}
        self._by_key: dict[str, E2bSandbox] = {}
        self._ends: set[asyncio.Task[None]] = set()

    async def lose(self, sandbox: str) -> None:
        """End a sandbox, as the provider does by itself."""
        found = self.sandboxes.pop(sandbox, None)
        if found is not None:
            await found.machine.end()

    def app(self) -> web.Application:
        """Its routes."""
        app = application()
        app.router.add_post("/v2/sandboxes", self._create)
        app.router.add_get("/v2/sandboxes", self._list)
        app.router.add_get("/sandboxes/{id}", self._look)
        app.router.add_delete("/sandboxes/{id}", self._end)
        app.router.add_post("/v2/sandboxes/{id}/connect", self._look)
        e2b_daemon.add_routes(app, self.sandboxes, self.faults)
        return app

    async def close(self) -> None:
        """End all sandboxes."""
        for task in self._ends:
            task.cancel()
        for sandbox in tuple(self.sandboxes):
            await self.lose(sandbox)

    async def _create(self, request: web.Request) -> web.Response:
        kind = await self._checked(request, "create")
        asked = await request.json()
        key = request.headers.get("Idempotency-Key", secrets.token_hex())
        sandbox = self._by_key.get(key)
        if sandbox is None:
            sandbox = self._by_key[key] = E2bSandbox(asked)
            self.created.append(asked)
            await sandbox.machine.__aenter__()
            self.sandboxes[sandbox.id] = sandbox
            self._ends.add(asyncio.create_task(self._end_in_time(sandbox)))
        return _answered(request, kind, web.json_response(sandbox.as_created(), status=201))

    async def _end_in_time(self, sandbox: E2bSandbox) -> None:
        await asyncio.sleep(sandbox.asked["timeout"])
        await self.lose(sandbox.id)

    async def _list(self, request: web.Request) -> web.Response:
        kind = await self._checked(request, "find")
        wanted = dict(parse_qsl(request.query.get("metadata", "")))
        found = [
            each.as_listed()
            for each in self.sandboxes.values()
            if wanted.items() <= each.asked["metadata"].items()
        ]
        return _answered(request, kind, web.json_response(found))

    async def _look(self, request: web.Request) -> web.Response:
        """Also whoever connects is answered here: the sandbox runs already."""
        kind = await self._checked(request, "look")
        sandbox = self._sandbox(request)
        connects = request.method == "POST"
        shown = sandbox.as_created() if connects else sandbox.as_listed()
        return _answered(request, kind, web.json_response(shown))

    async def _end(self, request: web.Request) -> web.Response:
        kind = await self._checked(request, "end")
        await self.lose(self._sandbox(request).id)
        return _answered(request, kind, web.Response(status=204))

    async def _checked(self, request: web.Request, operation: Operation) -> Kind | None:
        if request.headers.get("X-API-KEY") != self.key:
            raise _error(*_REFUSALS["auth"])
        kind = await self.faults.take(operation)
        if kind is not None and kind not in {"lost_answer", "cut"}:
            raise _error(*_REFUSALS[kind])
        return kind

    def _sandbox(self, request: web.Request) -> E2bSandbox:
        name = request.match_info["id"]
        if name not in self.sandboxes:
            raise _error(404, f"sandbox {name} doesn't exist")
        return self.sandboxes[name]


@asynccontextmanager
async def e2b_server() -> AsyncGenerator[E2bServer]:
    """An E2B of one's own, while the block runs."""
    server = E2bServer()
    async with served(server.app()) as url:
        server.env = {"E2B_API_KEY": server.key, "E2B_API_URL": url, "E2B_SANDBOX_URL": url}
        try:
            yield server
        finally:
            server.faults.release()
            await server.close()


_SIZES = {"cpuCount": 2, "memoryMB": 512, "diskSizeMB": 1024, "volumeMounts": list[Json]()}


def _answered(request: web.Request, kind: Kind | None, answer: web.Response) -> web.Response:
    if kind == "cut":
        cut(request)
    if kind == "lost_answer":
        raise _error(*_REFUSALS["lost_answer"])
    return answer


def _error(status: int, message: str) -> Refusal:
    return Refusal(status, {"code": status, "message": message})


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
