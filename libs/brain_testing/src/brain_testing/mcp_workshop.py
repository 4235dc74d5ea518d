"""An MCP server made with the official SDK, with a tool of each kind. Above: tests of MCP tools.

It serves over Streamable HTTP on a port of its own, in the test's event loop.
"""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import uvicorn
from mcp.server.mcpserver import Context, Image, MCPServer
from pydantic import BaseModel, Field


class Sum(BaseModel):
    """A structured result."""

    total: int


class Workshop:
    """A server with a few tools, and what has happened there."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.server = MCPServer("workshop")
        for tool in (
            self.echo,
            self.add,
            self.picture,
            self.fail,
            self.count,
            self.work,
            self.ask,
            self.place,
        ):
            self.server.add_tool(tool)

    async def echo(self, text: str) -> str:
        """Say a text back."""
        return text

    async def add(self, a: int, b: int) -> Sum:
        """Add two numbers."""
        return Sum(total=a + b)

    async def picture(self) -> Image:
        """Draw a picture."""
        return Image(data=b"\x89PNG", format="png")

    async def fail(self) -> str:
        """Fail."""
        raise ValueError("no wood")

    async def count(self, to: int, ctx: Context[Any]) -> str:
        """Count, and report each number."""
        for number in range(to):
            await ctx.report_progress(number + 1, to)
        return "counted"

    async def work(self, ctx: Context[Any]) -> str:
        """Report once, and work until somebody cancels it."""
        await ctx.report_progress(1, 2, "cutting")
        self.started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return "never"

    async def ask(self, ctx: Context[Any]) -> str:
        """Ask the client a question."""
        answer = await ctx.elicit("Which wood?", Sum)
        return answer.action

    async def place(
        self, region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]
    ) -> str:
        """Say where it is; the region is among the headers, too."""
        return f"in {region}"


@asynccontextmanager
async def open_workshop(
    *, stateless_http: bool = False, json_response: bool = False
) -> AsyncGenerator[tuple[Workshop, str]]:
    """A workshop that serves while the block runs, and its URL."""
    workshop = Workshop()
    app = workshop.server.streamable_http_app(
        stateless_http=stateless_http, json_response=json_response
    )
    config = uvicorn.Config(app, log_config=None, ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    # It listens from here on, so whoever comes before it has started waits.
    listener = socket.create_server(("127.0.0.1", 0))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield workshop, f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        await serving
