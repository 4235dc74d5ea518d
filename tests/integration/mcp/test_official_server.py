"""Against the official SDK's own server, in each way that it serves (MCP-06)."""

import asyncio
import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import pytest
import uvicorn
from mcp.server.mcpserver import Context, Image, MCPServer
from pydantic import BaseModel, Field

from brain_core.content import ImageBlock
from brain_testing.tool_driver import ToolDriver, binding, said, start

pytestmark = pytest.mark.requirement("MCP-06")

WAYS: dict[str, dict[str, bool]] = {
    "sessions": {},
    "stateless": {"stateless_http": True},
    "json": {"json_response": True},
    "stateless json": {"stateless_http": True, "json_response": True},
}
REGION = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
}


class Sum(BaseModel):
    total: int


class Workshop:
    """A server with a few tools, and what has happened there."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.server = MCPServer("workshop")
        for tool in (self.echo, self.add, self.picture, self.fail, self.work, self.ask, self.place):
            self.server.add_tool(tool)

    async def echo(self, text: str) -> str:
        return text

    async def add(self, a: int, b: int) -> Sum:
        return Sum(total=a + b)

    async def picture(self) -> Image:
        return Image(data=b"\x89PNG", format="png")

    async def fail(self) -> str:
        raise ValueError("no wood")

    async def work(self, ctx: Context[Any]) -> str:
        await ctx.report_progress(1, 2, "cutting")
        self.started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return "never"

    async def ask(self, ctx: Context[Any]) -> str:
        answer = await ctx.elicit("Which wood?", Sum)
        return answer.action

    async def place(
        self, region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]
    ) -> str:
        return f"in {region}"


@asynccontextmanager
async def open_workshop(
    *, stateless_http: bool = False, json_response: bool = False
) -> AsyncGenerator[tuple[Workshop, str]]:
    workshop = Workshop()
    app = workshop.server.streamable_http_app(
        stateless_http=stateless_http, json_response=json_response
    )
    config = uvicorn.Config(app, port=0, log_config=None, ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    try:
        async with asyncio.timeout(20):
            while not server.started:
                await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield workshop, f"http://127.0.0.1:{port}/mcp"
    finally:
        server.should_exit = True
        await serving


@pytest.mark.parametrize("way", WAYS)
async def test_its_tools_answer_as_any_tool_does(driver: ToolDriver, way: str) -> None:
    names = ("echo", "add", "picture", "fail", "place", "nowhere")
    async with open_workshop(**WAYS[way]) as (_, url):
        caller = driver.caller(
            *(
                binding(
                    url,
                    name=name,
                    mcp_tool=name,
                    **({"input_schema": REGION} if name == "place" else {}),
                )
                for name in names
            )
        )
        echo = await start(caller, '{"text":"häuser"}', name="echo").result()
        add = await start(caller, '{"a":1,"b":12345678901234567890}', name="add").result()
        picture = await start(caller, name="picture").result()
        fail = await start(caller, name="fail").result()
        place = await start(caller, '{"region":"münchen"}', name="place").result()
        nowhere = await start(caller, name="nowhere").result()
    assert said(echo) == "häuser"
    assert bytes(add.structured_content) == b'{"total":12345678901234567891}'  # pyright: ignore[reportArgumentType]
    assert picture.content == (ImageBlock(base64.b64encode(b"\x89PNG").decode(), "image/png"),)
    assert (fail.is_error, fail.unknown_outcome) == (True, False)
    assert "fail" in said(fail)
    assert said(place) == "in münchen"
    assert (nowhere.is_error, nowhere.unknown_outcome) == (True, False)


@pytest.mark.requirement("MCP-04")
@pytest.mark.parametrize("way", ["sessions", "stateless"])
async def test_an_interrupt_ends_the_work_at_the_server(driver: ToolDriver, way: str) -> None:
    async with open_workshop(**WAYS[way]) as (workshop, url):
        call = start(driver.caller(binding(url, mcp_tool="work")))
        await call.progressed(1)
        assert call.progress == [b'{"progress":1,"total":2,"message":"cutting"}']
        call.running.interrupt()
        assert (await call.result()).code == "interrupted"
        async with asyncio.timeout(20):
            await workshop.cancelled.wait()


@pytest.mark.parametrize("way", WAYS)
async def test_a_tool_that_asks_its_client_gets_no_answer_and_says_so(
    driver: ToolDriver, way: str
) -> None:
    async with open_workshop(**WAYS[way]) as (_, url):
        ended = await start(driver.caller(binding(url, mcp_tool="ask"))).result()
    assert ended.is_error


async def test_a_batch_of_calls_goes_through_one_session(driver: ToolDriver) -> None:
    async with open_workshop() as (_, url):
        caller = driver.caller(binding(url, mcp_tool="echo"))
        calls = [start(caller, f'{{"text":"{n}"}}') for n in range(20)]
        assert [said(await call.result()) for call in calls] == [str(n) for n in range(20)]
