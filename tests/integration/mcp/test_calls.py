"""What an MCP server is sent, and what its results become (MCP-01, MCP-03)."""

import base64
import json
from typing import Any

import pytest
from msgspec import Raw

from brain_core.content import ImageBlock, TextBlock
from brain_testing.mcp_server import SESSION, VERSION, McpServer, result, sse, stream
from brain_testing.raw_script import Send, response
from brain_testing.tool_driver import ToolDriver, binding, said, start

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
PIXEL = base64.b64encode(b"\x89PNG").decode()


@pytest.mark.requirement("MCP-01")
async def test_a_call_says_who_it_is_for_and_nothing_of_ours(driver: ToolDriver) -> None:
    async with McpServer(result("hi")) as server:
        caller = driver.caller(binding(server.url("/mcp"), mcp_tool="remote/tool", token="t0k3n"))
        call = start(caller, '{"b":12345678901234567890123,"a":1.50}', traceparent=TRACE)
        assert said(await call.result()) == "hi"
        (request,) = server.calls
    assert b'"arguments":{"b":12345678901234567890123,"a":1.50}' in request.body
    assert request.json["params"]["name"] == "remote/tool"
    assert request.header("Authorization") == "Bearer t0k3n"
    assert request.header("Mcp-Session-Id") == SESSION
    assert request.header("MCP-Protocol-Version") == VERSION
    assert request.header("Accept-Encoding") == "identity"
    meta = request.json["params"]["_meta"]
    assert meta["traceparent"].split("-")[1] == TRACE.split("-")[1]
    assert set(meta) == {"traceparent", "progressToken"}
    assert request.header("traceparent") == meta["traceparent"]


@pytest.mark.requirement("MCP-01")
async def test_every_request_carries_the_token_and_none_without_one(driver: ToolDriver) -> None:
    for token, sent in (("t0k3n", "Bearer t0k3n"), (None, None)):
        async with McpServer(result("hi")) as server:
            caller = driver.caller(binding(server.url("/mcp"), mcp_tool="remote", token=token))
            await start(caller).result()
            assert {each.header("Authorization") for each in server.requests} == {sent}


@pytest.mark.requirement("MCP-01")
async def test_arguments_are_checked_before_the_server_is_asked_anything(
    driver: ToolDriver,
) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    async with McpServer(result("never")) as server:
        caller = driver.caller(
            binding(server.url("/mcp"), mcp_tool="remote", input_schema=schema),
            binding(server.url("/mcp"), name="keyless", mcp_tool="remote", token=""),
        )
        wrong = await start(caller, '{"n": "42"}').result()
        keyless = await start(caller, name="keyless").result()
        assert server.connections == 0
    assert (wrong.code, keyless.code) == ("refused_arguments", "refused_credential")


@pytest.mark.requirement("MCP-01")
async def test_a_call_goes_through_the_proxy_that_the_environment_names(
    driver: ToolDriver,
) -> None:
    async with McpServer(result("by proxy")) as proxy:
        env = {"HTTP_PROXY": f"http://user:pass@127.0.0.1:{proxy.port}"}
        caller = driver.caller(binding("http://mcp.example/mcp", mcp_tool="remote"), env=env)
        assert said(await start(caller).result()) == "by proxy"
        (sent,) = proxy.calls
    assert sent.line == "POST http://mcp.example/mcp HTTP/1.1"
    assert sent.header("Proxy-Authorization") == "Basic dXNlcjpwYXNz"


BLOCKS: dict[str, tuple[dict[str, Any], TextBlock | ImageBlock]] = {
    "text": ({"type": "text", "text": "hi", "annotations": {}}, TextBlock("hi")),
    "image": (
        {"type": "image", "data": PIXEL, "mimeType": "image/png"},
        ImageBlock(PIXEL, "image/png"),
    ),
    "audio": (
        {"type": "audio", "data": PIXEL, "mimeType": "audio/wav"},
        TextBlock("[Audio, audio/wav, 4 bytes: not shown]"),
    ),
    "text resource": (
        {"type": "resource", "resource": {"uri": "a://b", "text": "inside"}},
        TextBlock("inside"),
    ),
    "binary resource": (
        {"type": "resource", "resource": {"uri": "a://b", "mimeType": "a/b", "blob": PIXEL}},
        TextBlock("[Resource a://b, a/b, 4 bytes: not shown]"),
    ),
    "link": (
        {"type": "resource_link", "uri": "a://b", "name": "n", "mimeType": "a/b"},
        TextBlock("[Resource link] n: a://b (a/b)"),
    ),
}


@pytest.mark.requirement("MCP-03")
@pytest.mark.parametrize("kind", BLOCKS)
async def test_a_block_becomes_what_a_model_can_read(driver: ToolDriver, kind: str) -> None:
    sent, block = BLOCKS[kind]
    async with McpServer(result(sent)) as server:
        caller = driver.caller(binding(server.url("/mcp"), mcp_tool="remote"))
        ended = await start(caller).result()
    assert ended.content == (block,)
    assert not ended.is_error


WRONG = {
    "image of no type": {"type": "image", "data": PIXEL, "mimeType": "text/html"},
    "image that is not base64": {"type": "image", "data": "%", "mimeType": "image/png"},
    "audio that is not base64": {"type": "audio", "data": "%", "mimeType": "audio/wav"},
    "resource with nothing in it": {"type": "resource", "resource": {"uri": "a://b"}},
}


@pytest.mark.requirement("MCP-03")
@pytest.mark.parametrize("kind", WRONG)
async def test_a_block_that_is_wrong_is_a_bad_result(driver: ToolDriver, kind: str) -> None:
    async with McpServer(result("first", WRONG[kind])) as server:
        caller = driver.caller(binding(server.url("/mcp"), mcp_tool="remote"))
        ended = await start(caller).result()
    assert ended.code == "bad_result"
    assert "/content/1" in said(ended)


@pytest.mark.requirement("MCP-03")
async def test_an_error_of_the_tool_is_a_known_outcome(driver: ToolDriver) -> None:
    async with McpServer(result("no such file", isError=True)) as server:
        caller = driver.caller(binding(server.url("/mcp"), mcp_tool="remote"))
        ended = await start(caller).result()
    assert (ended.is_error, ended.unknown_outcome, said(ended)) == (True, False, "no such file")


@pytest.mark.requirement("MCP-03")
async def test_structured_content_keeps_every_digit(driver: ToolDriver) -> None:
    body = '{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":{"b":1.50,"a":%s}}}'
    big = "9" * 30
    async with McpServer(
        lambda request: (Send(response(body % (request.json["id"], big))),)
    ) as server:
        caller = driver.caller(binding(server.url("/mcp"), mcp_tool="remote"))
        ended = await start(caller).result()
    assert isinstance(ended.structured_content, Raw)
    assert bytes(ended.structured_content) == b'{"b":1.50,"a":%s}' % big.encode()
    assert json.loads(said(ended))["a"] == int(big)


@pytest.mark.requirement("MCP-03")
async def test_structured_content_must_match_the_schema_of_the_binding(driver: ToolDriver) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    async with McpServer(result("ok", structuredContent={"n": "x"})) as server:
        caller = driver.caller(binding(server.url("/mcp"), mcp_tool="remote", output_schema=schema))
        assert (await start(caller).result()).code == "bad_result"
        server.answers("tools_call", result("ok", structuredContent={"n": 1}))
        assert said(await start(caller).result()) == "ok"
        server.answers("tools_call", result("no", isError=True))
        assert (await start(caller).result()).code != "bad_result"


@pytest.mark.requirement("MCP-03")
async def test_a_result_without_content_says_so(driver: ToolDriver) -> None:
    async with McpServer(result(structuredContent=None)) as server:
        caller = driver.caller(binding(server.url("/mcp"), mcp_tool="remote"))
        ended = await start(caller).result()
    assert (said(ended), ended.is_error) == ("The tool returned no content.", False)


@pytest.mark.requirement("MCP-03")
async def test_a_large_result_is_read_up_to_the_last_byte(driver: ToolDriver) -> None:
    text = "x" * 1_500_000
    async with McpServer(stream(last=True)) as server:
        caller = driver.caller(
            binding(server.url("/mcp"), mcp_tool="remote", max_output_bytes=2**21)
        )
        assert said(await start(caller).result()) == "done"
        server.answers("tools_call", result(text))
        assert said(await start(caller).result()) == text


@pytest.mark.requirement("MCP-01")
async def test_a_stream_may_hold_what_nobody_asked_for(driver: ToolDriver) -> None:
    noise = sse({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    other = sse({"jsonrpc": "2.0", "id": 4711, "result": {"content": []}})
    odd = sse({"jsonrpc": "2.0", "method": "x"}, "event: odd")
    async with McpServer(stream(b": hello\n\n", noise, other, odd, sse(None, "id: 1"))) as server:
        caller = driver.caller(binding(server.url("/mcp"), mcp_tool="remote"))
        assert said(await start(caller).result()) == "done"
