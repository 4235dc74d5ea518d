"""The outcome table for MCP tools (MCP-05): where a call is sent is where its outcome opens."""

from collections.abc import Callable
from typing import Any

import pytest

from brain_core.content import ToolResult
from brain_testing.mcp_server import McpServer, Play, answer, error, plays, result, sse, stream
from brain_testing.raw_request import RawRequest
from brain_testing.raw_script import Close, Reset, Script, Send, head, response
from brain_testing.tool_driver import ToolDriver, binding, said, start

pytestmark = pytest.mark.requirement("MCP-05")


async def played(driver: ToolDriver, server: McpServer, **fields: Any) -> ToolResult:
    caller = driver.caller(binding(server.url("/mcp"), mcp_tool="remote", **fields))
    return await start(caller).result()


def about(result: ToolResult) -> tuple[str, bool]:
    assert result.is_error
    return str(result.code), result.unknown_outcome


def raw(body: bytes, **how: Any) -> Play:
    return plays(Send(response(body, **how)))


def with_another_id(request: RawRequest) -> Script:
    body = {**answer(request, result={"content": []}), "id": 4711}
    return (Send(response(body)),)


BEFORE: dict[str, tuple[Play, str]] = {
    "status": (plays(Send(response(b"secret", status="503 Away"))), "http_status"),
    "unauthorized": (plays(Send(response(b"secret", status="401 No"))), "http_status"),
    "redirect": (
        plays(Send(response(b"", "Location: http://127.0.0.1:1/", status="307 There"))),
        "http_status",
    ),
    "error": (error(-32603, "out of order"), "mcp_no_session"),
    "closed": (plays(Close()), "connection_lost"),
    "no_json": (raw(b"<html>"), "mcp_no_session"),
    "html": (raw(b"<html>", content_type="text/html"), "wrong_content_type"),
    "too_large": (raw(b" " * 1024 * 1025), "too_large"),
    "no_result": (raw(b'{"jsonrpc":"2.0","id":1,"result":{}}'), "mcp_no_session"),
}


@pytest.mark.parametrize("case", BEFORE)
async def test_until_a_session_is_open_nothing_has_happened(driver: ToolDriver, case: str) -> None:
    play, code = BEFORE[case]
    async with McpServer(result("never"), initialize=play, server_discover=play) as server:
        ended = await played(driver, server)
        assert server.asked("tools/call") == []
    assert about(ended)[1] is False
    assert about(ended)[0] in (code, "bad_result", "mcp_no_session")
    assert "nothing happened" in said(ended)
    assert "secret" not in said(ended)


async def test_a_server_that_is_not_there_was_not_called(driver: ToolDriver) -> None:
    async with McpServer(result("never")) as server:
        url = server.url("/mcp")
    caller = driver.caller(binding(url, mcp_tool="remote"))
    assert about(await start(caller).result()) == ("connection_failed", False)


AFTER: dict[str, tuple[Play, str]] = {
    "status": (plays(Send(response(b"secret", status="500 Oh"))), "http_status"),
    "unauthorized": (plays(Send(response(b"", status="401 No"))), "http_status"),
    "forgotten": (plays(Send(response(b"", status="404 Gone"))), "http_status"),
    "redirect": (
        plays(Send(response(b"", "Location: /elsewhere", status="307 There"))),
        "http_status",
    ),
    "accepted": (plays(Send(response(b"", content_type=None, status="202 Yes"))), "wrong_content"),
    "closed": (plays(Close()), "connection_lost"),
    "reset": (plays(Reset()), "connection_lost"),
    "cut": (
        plays(Send(head("application/json", "Content-Length: 99")), Send(b"{"), Close()),
        "connection_lost",
    ),
    "no_http": (plays(Send(b"SSH-2.0\r\n\r\n"), Close()), "bad_http"),
    "html": (raw(b"<html>", content_type="text/html"), "wrong_content_type"),
    "no_json": (raw(b"<html>"), "bad_result"),
    "batch": (raw(b"[]"), "bad_result"),
    "other_id": (with_another_id, "bad_result"),
    "bad_block": (result({"type": "hologram"}), "bad_result"),
    "declared_too_large": (
        plays(Send(head("application/json", "Content-Length: 9999999"))),
        "too_large",
    ),
    "too_large": (result("x" * 2000), "too_large"),
    "stream_too_large": (stream(sse(None, ": " + "x" * 2000)), "too_large"),
    "stream_without_result": (stream(last=False), "no_result"),
    "stream_of_garbage": (stream(b"data: {nope\n\n"), "bad_event"),
    "error": (error(-32603, "out of order"), "mcp_error"),
    "asks_for_input": (
        result(resultType="input_required", inputRequests={}, requestState="x"),
        "bad_result",
    ),
}


@pytest.mark.parametrize("case", AFTER)
async def test_from_then_on_the_action_may_have_happened(driver: ToolDriver, case: str) -> None:
    play, code = AFTER[case]
    async with McpServer(play) as server:
        ended = await played(driver, server, max_output_bytes=1000)
        assert len(server.asked("tools/call")) == 1
    assert about(ended)[0].startswith(code)
    assert about(ended)[1] is True
    assert "may or may not have happened" in said(ended)
    assert "secret" not in said(ended)


REFUSED: dict[str, Play] = {
    "unknown_tool": error(-32602, "Unknown tool: remote"),
    "unknown_method": error(-32601, "Method not found"),
    "newest_revision": error(-32602, "Unknown tool: remote", status="400 Bad Request"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_a_tool_that_the_server_does_not_know_did_nothing(
    driver: ToolDriver, case: str
) -> None:
    async with McpServer(REFUSED[case]) as server:
        ended = await played(driver, server)
    assert about(ended) == ("mcp_refused", False)


async def test_what_the_server_says_to_an_error_is_told(driver: ToolDriver) -> None:
    async with McpServer(error(-32000, "The lathe is off. " * 100)) as server:
        ended = await played(driver, server)
    assert "The lathe is off." in said(ended)
    assert len(said(ended)) < 600


async def test_the_body_of_a_status_is_not_told(driver: ToolDriver) -> None:
    async with McpServer(error(-32602, "secret", status="400 Bad Request")) as server:
        assert "secret" not in said(await played(driver, server))


BROKEN: dict[str, Callable[[], Play]] = {
    "forgotten": lambda: plays(Send(response(b"", status="404 Gone"))),
    "unauthorized": lambda: plays(Send(response(b"", status="401 No"))),
    "closed": lambda: plays(Close()),
}


@pytest.mark.parametrize("case", BROKEN)
async def test_after_a_broken_session_the_next_call_works(driver: ToolDriver, case: str) -> None:
    async with McpServer(BROKEN[case]()) as server:
        caller = driver.caller(binding(server.url("/mcp"), mcp_tool="remote"))
        assert (await start(caller).result()).unknown_outcome
        server.answers("tools_call", result("again"))
        assert said(await start(caller).result()) == "again"
        assert len(server.asked("tools/call")) == 2
        assert len(server.asked("initialize")) == 2
