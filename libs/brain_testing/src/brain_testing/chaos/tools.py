"""The drivers' tool service: counts what arrives, and answers in all kinds of ways.

Above: `driver`. Below: aiohttp's server.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from aiohttp import web

NAMES = ("quick", "slow", "stream", "broken", "hang", "kill")
_RESULT = {"content": [{"type": "text", "text": "done " * 20}]}


class ToolService:
    """`arrived` counts deliveries by call id. `on_kill` is run when a call of `kill` arrives."""

    def __init__(self, rng: Random, on_kill: Callable[[], None]) -> None:
        self.arrived: Counter[str] = Counter()
        self.url = ""
        self._rng = rng
        self._on_kill = on_kill

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
        body = await request.json()
        self.arrived[body["call_id"]] += 1
        name = request.match_info["tool"]
        if name == "kill":
            self._on_kill()
        if name == "stream":
            return await self._stream(request)
        if name == "broken":
            return web.Response(status=500)
        if name != "quick":
            await asyncio.sleep(self._rng.uniform(0.02, 2.0 if name == "hang" else 0.2))
        return web.json_response(_RESULT)

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._write(request)
        except ConnectionResetError:
            return web.Response()  # nobody is there any more to read it

    async def _write(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for number in range(4):
            await response.write(f"event: progress\ndata: {number}\n\n".encode())
            await asyncio.sleep(0.01)
        await response.write(f"event: result\ndata: {json.dumps(_RESULT)}\n\n".encode())
        return response


@asynccontextmanager
async def tool_service(rng: Random, on_kill: Callable[[], None]) -> AsyncGenerator[ToolService]:
    """The service, on a port of its own, while the block runs."""
    service = ToolService(rng, on_kill)
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
