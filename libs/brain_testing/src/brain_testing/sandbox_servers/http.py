"""Serving a stand-in's HTTP on loopback. Above: `e2b`, `daytona`. Below: aiohttp."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Refusal(Exception):
    """Answers a request with this status and JSON."""

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        super().__init__(status, body)
        self.status = status
        self.body = body


@web.middleware
async def _refusing(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except Refusal as refusal:
        return web.json_response(refusal.body, status=refusal.status)
    except ConnectionError:  # a client that is gone gets no answer
        return web.Response(status=499)


def application() -> web.Application:
    """An app for routes that may raise `Refusal`."""
    return web.Application(middlewares=[_refusing], client_max_size=32 * 1024 * 1024)


@asynccontextmanager
async def served(app: web.Application) -> AsyncGenerator[str]:
    """Serve while the block runs, on a free port; gives the URL."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port: int = runner.addresses[0][1]
        yield f"http://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


def cut(request: web.Request) -> None:
    """End the connection as it stands."""
    if request.transport is not None:
        request.transport.abort()
