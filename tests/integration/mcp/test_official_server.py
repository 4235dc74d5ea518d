"""Against the official SDK's own server, in each way that it serves (MCP-06)."""

import asyncio
import base64

import pytest

from brain_core.content import ImageBlock
from brain_testing.mcp_workshop import open_workshop
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
