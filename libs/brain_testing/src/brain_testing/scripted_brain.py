"""A real edge, over HTTP, in front of a scripted engine, over gRPC.

Above: the edge's tests. Below: the edge and `scripted_engine`.
"""

import asyncio
import socket
import tempfile
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import grpc
import uvicorn

from brain.edge.app import create_app
from brain.edge.http import BoundedHttp
from brain.edge.server import EdgeServer
from brain.edge.settings import EdgeSettings
from brain_testing.api import Api
from brain_testing.scripted_engine import ScriptedEngine
from brainapi.session.v1.session_service_pb2_grpc import add_SessionServiceServicer_to_server

_WAIT_SECONDS = 20.0


class ScriptedBrain:
    """A real edge in front of a scripted engine; the engine can be taken away and come back."""

    def __init__(self, settings: EdgeSettings) -> None:
        self.engine = ScriptedEngine()
        self.settings = settings
        self.url = ""
        self._server: grpc.aio.Server | None = None
        self._edge: EdgeServer | None = None
        self._serving: asyncio.Task[None] | None = None

    async def start_engine(self) -> None:
        self._server = grpc.aio.server(options=[("grpc.max_receive_message_length", -1)])
        add_SessionServiceServicer_to_server(self.engine, self._server)
        self._server.add_insecure_port(self.settings.engine_targets[0])
        await self._server.start()

    async def stop_engine(self) -> None:
        if self._server is not None:
            await self._server.stop(None)
            self.engine.streams.clear()

    def stop_edge(self) -> None:
        """Ask the edge to stop, as SIGTERM does."""
        if self._edge is not None:
            self._edge.should_exit = True

    async def stopped(self) -> None:
        """Wait until the edge has stopped."""
        if self._serving is not None:
            await self._serving

    async def reachable(self, api: Api) -> None:
        """Wait until the edge has found the engine again."""
        async with asyncio.timeout(_WAIT_SECONDS):
            while (await api.http.get("/catalog")).status_code == 503:
                pass

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator["ScriptedBrain"]:
        app = create_app(self.settings)
        config = uvicorn.Config(
            app, http=BoundedHttp, log_config=None, lifespan="on", server_header=False
        )
        self._edge = EdgeServer(config, app)
        listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self._serving = asyncio.create_task(self._edge.serve([listener]))
        try:
            yield self
        finally:
            self.stop_edge()
            await self._serving


@asynccontextmanager
async def scripted_brain(**settings: Any) -> AsyncGenerator[ScriptedBrain]:
    """A scripted engine and the edge in front of it; `settings` are fields of `EdgeSettings`."""
    async with AsyncExitStack() as stack:
        # Not pytest's folder: a Unix socket's path may have at most 107 bytes.
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="brain-"))
        defaults: dict[str, Any] = {
            "engine_key": None,
            "api_keys": {"local": ("key-of-local",), "other": ("key-of-other",)},
            "public_url": "http://127.0.0.1:1",
        }
        target = f"unix:{folder}/engine.sock"
        brain = ScriptedBrain(EdgeSettings(engine_targets=(target,), **{**defaults, **settings}))
        await brain.start_engine()
        stack.push_async_callback(brain.stop_engine)
        yield await stack.enter_async_context(brain.serving())
