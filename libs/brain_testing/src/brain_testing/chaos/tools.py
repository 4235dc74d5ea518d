"""The drivers' tool service: notes what arrives, and answers in all kinds of ways.

Above: `driver`. Below: aiohttp's server. It also knows moments of a call at which its engine can be
killed, which only a service can see.
"""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from aiohttp import web

NAMES = ("quick", "slow", "stream", "broken", "hang")
_RESULT = {"content": [{"type": "text", "text": "done " * 20}]}
_TEXT = json.dumps(_RESULT).encode()

OnPoint = Callable[[str], Awaitable[None]]
"""Is told the session whose call has come to the point."""


class ToolService:
    """`arrived` holds, by call id, when each delivery came, in seconds since the epoch.

    `point` is where the next call that comes to it is told to `on_point`.
    """

    def __init__(self, rng: Random, on_point: OnPoint) -> None:
        self.arrived: dict[str, list[float]] = {}
        self.url = ""
        self.point: str | None = None
        self._rng = rng
        self._on_point = on_point

    def bindings(self) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "description": f"It is {name}.",
                "input_schema": {"type": "object"},
                "url": f"{self.url}/tools/{name}",
                "tenants": ["local"],
            }
            for name in NAMES
        ]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        now = time.time()
        body = await request.json()
        self.arrived.setdefault(body["call_id"], []).append(now)
        session_id = body["session_id"]
        await self._at("call:arrived", session_id)
        try:
            return await self._answer(request, request.match_info["tool"], session_id)
        except ConnectionError:
            return web.Response()  # nobody is there any more to read it

    async def _answer(self, request: web.Request, name: str, session_id: str) -> web.StreamResponse:
        if name == "broken":
            return web.Response(status=500)
        if name in ("slow", "hang"):
            await asyncio.sleep(self._rng.uniform(0.02, 2.0 if name == "hang" else 0.2))
        streams = name == "stream"
        media_type = "text/event-stream" if streams else "application/json"
        response = web.StreamResponse(headers={"Content-Type": media_type})
        await response.prepare(request)
        await self._at("call:answering", session_id)
        await self._first_half(response, streams=streams)
        await self._at("call:streaming", session_id)
        await response.write(b"event: result\ndata: %b\n\n" % _TEXT if streams else _TEXT[20:])
        await response.write_eof()
        await self._at("call:answered", session_id)
        return response

    async def _first_half(self, response: web.StreamResponse, *, streams: bool) -> None:
        if not streams:
            await response.write(_TEXT[:20])
            return
        for number in range(4):
            await response.write(f"event: progress\ndata: {number}\n\n".encode())
            await asyncio.sleep(0.01)

    async def _at(self, point: str, session_id: str) -> None:
        if self.point == point:
            self.point = None
            await self._on_point(session_id)


@asynccontextmanager
async def tool_service(rng: Random, on_point: OnPoint) -> AsyncGenerator[ToolService]:
    """The service, on a port of its own, while the block runs."""
    service = ToolService(rng, on_point)
    app = web.Application()
    app.router.add_post("/tools/{tool}", service.handle)
    runner = web.AppRunner(app, shutdown_timeout=1, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    service.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield service
    finally:
        await runner.cleanup()
