"""A tool service whose calls a test answers by hand, so that it never has to guess how long.

Above: tests. Below: aiohttp's server. A call that arrives waits at the desk until the test answers
it; a tool that was given a `serve` function is answered by that. For broken bytes there is
`tool_server`: this one speaks proper HTTP.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from aiohttp import web

Json = dict[str, Any]
T = TypeVar("T")

PATIENCE_SECONDS = 20
"""No wait of a test is longer; none is meant to come near."""


async def within(awaitable: Awaitable[T]) -> T:
    """The result, or TimeoutError: a bounded wait."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await awaitable


class DeskCall:
    """A call that has arrived: what was sent, and the ways to answer it."""

    def __init__(self, request: web.Request, raw: bytes) -> None:
        self.tool = request.match_info["tool"]
        self.method = request.method
        self.target = request.raw_path
        self.headers = request.headers
        self.raw = raw
        self.gone = asyncio.Event()
        """Set once Brain has dropped the connection."""
        self.response: asyncio.Future[web.StreamResponse] = (
            asyncio.get_running_loop().create_future()
        )
        self._request = request
        self._stream: web.StreamResponse | None = None

    @property
    def body(self) -> Json:
        return json.loads(self.raw)

    @property
    def arguments(self) -> Json:
        return self.body["arguments"]

    def say(self, text: str, **more: Any) -> None:
        """Answer with one text block, and other fields of a result object."""
        self.reply({"content": [{"type": "text", "text": text}], **more})

    def reply(
        self, body: Json | bytes, status: int = 200, content_type: str | None = "application/json"
    ) -> None:
        """Answer with anything."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": content_type} if content_type else {}
        self.response.set_result(web.Response(status=status, body=raw, headers=headers))

    async def stream(self) -> web.StreamResponse:
        """The answer as an event stream, begun now if it wasn't."""
        if self._stream is None:
            self._stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await self._stream.prepare(self._request)
        return self._stream

    async def event(self, name: str, data: Any) -> None:
        """Send one event of a stream."""
        stream = await self.stream()
        await stream.write(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode())

    async def progress(self, payload: Any) -> None:
        await self.event("progress", payload)

    async def result(self, text: str, **more: Any) -> None:
        """Send the result event, and end the stream."""
        await self.event("result", {"content": [{"type": "text", "text": text}], **more})
        await self.end()

    async def end(self) -> None:
        """End the stream, whatever was in it."""
        self.response.set_result(await self.stream())

    def hang_up(self) -> None:
        """Close the connection without an answer."""
        if self._request.transport is not None:
            self._request.transport.abort()


Serve = Callable[[DeskCall], Coroutine[Any, Any, None]]


class Desk:
    """The service. `arrived` are all calls, in the order in which they came."""

    def __init__(self) -> None:
        self.url = ""
        self.arrived: list[DeskCall] = []
        self._waiting: asyncio.Queue[DeskCall] = asyncio.Queue()
        self._served: dict[str, Serve] = {}

    def binding(self, name: str, serve: Serve | None = None, **fields: Any) -> Json:
        """A binding of the host config for a tool of this service."""
        if serve is not None:
            self._served[name] = serve
        return {
            "name": name,
            "description": f"The tool {name} of a test.",
            "input_schema": {"type": "object"},
            "url": f"{self.url}/tools/{name}",
            "tenants": ["local"],
            **fields,
        }

    async def next_call(self) -> DeskCall:
        """The next call that waits for an answer."""
        return await within(self._waiting.get())

    async def handle(self, request: web.Request) -> web.StreamResponse:
        call = DeskCall(request, await request.read())
        self.arrived.append(call)
        try:
            serve = self._served.get(call.tool)
            if serve is None:
                self._waiting.put_nowait(call)
            else:
                await serve(call)
            return await call.response
        except asyncio.CancelledError:
            call.gone.set()
            raise


@asynccontextmanager
async def open_desk() -> AsyncGenerator[Desk]:
    """A desk that is open while the block runs, on a port of its own."""
    desk = Desk()
    app = web.Application(client_max_size=8 * 1024 * 1024)
    app.router.add_route("*", "/tools/{tool}", desk.handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        desk.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield desk
    finally:
        for call in desk.arrived:
            call.response.cancel()
        await runner.cleanup()
