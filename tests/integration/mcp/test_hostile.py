"""MCP servers that say odd things, and far too many of them: each ends in an outcome, or is passed

over; what it costs is bounded, and the session goes on (MCP-04, MCP-05).
"""

import json
from collections.abc import Callable

import httpx2
import pytest

from brain.engine.tool.http_call import HttpClient
from brain.engine.tool.limits import Limits
from brain.engine.tool.mcp.allowance import Allowance
from brain.engine.tool.mcp.transport import McpTransport
from brain_testing.mcp_server import (
    McpServer,
    Play,
    answer,
    notification,
    plays,
    result,
    sse,
    stream,
)
from brain_testing.raw_request import RawRequest
from brain_testing.raw_script import (
    Close,
    Flood,
    Gate,
    Reach,
    Script,
    Send,
    UntilGone,
    head,
    response,
)
from brain_testing.tool_driver import ToolDriver, binding, said, start

pytestmark = pytest.mark.requirement("MCP-04", "MCP-05")

HEAD = Send(head("text/event-stream"))
DIGITS = "9" * 5000


def event(message: str) -> bytes:
    return f"data: {message}\n\n".encode()


def asks(request_id: str, params: str = "{}") -> bytes:
    return event(f'{{"jsonrpc":"2.0","id":{request_id},"method":"roots/list","params":{params}}}')


def progress(request: RawRequest, number: str) -> bytes:
    token = json.dumps(request.json["params"]["_meta"]["progressToken"])
    said = f'{{"progressToken":{token},"progress":{number}}}'
    return event(f'{{"jsonrpc":"2.0","method":"notifications/progress","params":{said}}}')


def logs(params: str) -> bytes:
    return event(f'{{"jsonrpc":"2.0","method":"notifications/message","params":{params}}}')


ODD: dict[str, Callable[[RawRequest], bytes]] = {
    "progress_huge": lambda request: progress(request, "1" + "0" * 400),
    "progress_no_number": lambda request: progress(request, '"half"'),
    "progress_infinite": lambda request: progress(request, "1e999"),
    "log_digits": lambda _: logs(f'{{"level":"info","data":{DIGITS}}}'),
    "log_level": lambda _: logs('{"level":{},"data":1}'),
    "log_nothing": lambda _: logs("[]"),
    "request_id_digits": lambda _: asks(DIGITS),
    "request_id_object": lambda _: asks("{}"),
    "request_params_list": lambda _: asks("1", "[1]"),
    "request_params_digits": lambda _: asks("1", f'{{"n":{DIGITS}}}'),
    "request_id_ours": lambda request: asks(json.dumps(request.json["id"])),
    "cancels_ours": lambda request: sse(notification("cancelled", requestId=request.json["id"])),
    "other_answer": lambda _: event('{"jsonrpc":"2.0","id":4711,"result":{}}'),
}


@pytest.mark.parametrize("case", ODD)
async def test_what_is_odd_beside_an_answer_ends_neither_call_nor_session(
    driver: ToolDriver, case: str
) -> None:
    def call(request: RawRequest) -> Script:
        done = answer(request, result={"content": [{"type": "text", "text": "done"}]})
        # More than one, so that what it might break has time to.
        odd = (Send(ODD[case](request)), Send(progress(request, "1")))
        return (HEAD, *odd, *odd, Gate("seen"), Send(sse(done)), Close())

    async with McpServer(call) as server:
        caller = driver.caller(binding(server.url("/mcp"), mcp_tool="remote"))
        begun = start(caller)
        await begun.progressed(2)
        server.open("seen")
        assert said(await begun.result()) == "done"
        server.answers("tools_call", result("next"))
        assert said(await start(caller).result()) == "next"
        assert len(server.asked("initialize")) == 1


async def test_a_number_too_large_for_a_whole_one_is_passed_on(driver: ToolDriver) -> None:
    async with McpServer(lambda request: stream(progress(request, "1e300"))(request)) as server:
        begun = start(driver.caller(binding(server.url("/mcp"), mcp_tool="remote")))
        assert said(await begun.result()) == "done"
    assert [json.loads(each) for each in begun.progress] == [{"progress": 1e300}]


def with_members(members: str) -> Play:
    def play(request: RawRequest) -> Script:
        body = f'{{"jsonrpc":"2.0","id":{json.dumps(request.json["id"])},{members}}}'
        return (Send(response(body.encode())),)

    return play


HELLO = '"result":{"content":[{"type":"text","text":"hello"}]}'
ERROR = '"error":{"code":-32602,"message":"Unknown tool"}'


async def test_an_answer_with_an_error_of_null_is_a_result(driver: ToolDriver) -> None:
    async with McpServer(with_members(HELLO + ',"error":null')) as server:
        begun = start(driver.caller(binding(server.url("/mcp"), mcp_tool="remote")))
        assert said(await begun.result()) == "hello"


@pytest.mark.parametrize(
    "members",
    [
        f"{HELLO},{ERROR}",
        '"error":null',
        '"error":"bad"',
        '"error":{"code":"-32602","message":"Unknown tool"}',
        '"error":{"code":-32602,"message":{}}',
    ],
)
async def test_an_error_that_is_not_one_leaves_the_outcome_open(
    driver: ToolDriver, members: str
) -> None:
    async with McpServer(with_members(members)) as server:
        ended = await start(driver.caller(binding(server.url("/mcp"), mcp_tool="remote"))).result()
    assert (ended.code, ended.unknown_outcome) == ("bad_result", True)


async def test_a_server_that_asks_without_end_is_answered_some_of_it(driver: ToolDriver) -> None:
    questions = b"".join(asks(str(number)) for number in range(10))
    async with McpServer(lambda _: (HEAD, Flood(questions, times=60), Close())) as server:
        ended = await start(driver.caller(binding(server.url("/mcp"), mcp_tool="remote"))).result()
        assert ended.code == "no_result"
        answered = [each for each in server.requests if b'"error"' in each.body]
        # Each second earns one more: a server that asks now and then is always answered.
        assert len(answered) < 300


async def test_an_interrupt_between_two_streams_of_an_answer_is_told(driver: ToolDriver) -> None:
    def call(request: RawRequest) -> Script:
        return (
            HEAD,
            Send(progress(request, "1")),
            Send(sse(None, "id: here", "retry: 30000")),
            Reach("ended"),
            Close(),
        )

    async with McpServer(call, notifications_cancelled=plays(Reach("told"), Close())) as server:
        caller = driver.caller(binding(server.url("/mcp"), mcp_tool="remote"))
        begun = start(caller)
        await begun.progressed(1)
        await server.reached("ended")
        server.answers("tools_call", result("another"))
        assert said(await start(caller).result()) == "another"  # by now the end has been seen
        begun.running.interrupt()
        ended = await begun.result()
        await server.reached("told")
    assert (ended.code, ended.unknown_outcome) == ("interrupted", True)


async def test_a_call_that_was_given_up_before_its_turn_is_never_sent() -> None:
    async with McpServer(result("never")) as server:
        url = server.url("/mcp")
        http = HttpClient({}, Limits())
        transport = McpTransport(http, url, None, Limits().header_bytes, lambda _: None)
        message = {
            "jsonrpc": "2.0",
            "id": 7,
            "method": "tools/call",
            "params": {"name": "remote", "_meta": {"brain.exchange": "given up"}},
        }
        answered = await transport.handle_async_request(httpx2.Request("POST", url, json=message))
        assert json.loads(await answered.aread())["id"] == 7
        assert server.requests == []
        http.close()


async def test_an_allowance_is_used_up_and_earned_again() -> None:
    allowance = Allowance(2, per_second=0.0001)
    assert [allowance.take() for _ in range(3)] == [True, True, False]
    soon = Allowance(1, per_second=1000)
    for _ in range(3):
        await soon.wait()


async def test_a_stream_of_the_servers_own_that_never_stays_is_not_opened_without_end(
    driver: ToolDriver,
) -> None:
    short = plays(HEAD, Send(sse(None, "id: 1", "retry: 1")), Reach("opened"), Close())
    async with McpServer(plays(HEAD, UntilGone()), GET=short) as server:
        begun = start(driver.caller(binding(server.url("/mcp"), mcp_tool="remote")))
        for _ in range(10):
            await server.reached("opened")
        begun.running.interrupt()
        await begun.result()
        assert len(server.asked_by("GET")) < 20
