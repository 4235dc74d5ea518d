"""Progress, interrupts, time limits and streams that go on elsewhere (MCP-04)."""

import json
from typing import Any

import pytest

from brain.engine.tool.limits import Limits
from brain_testing.manual_clock import ManualClock
from brain_testing.mcp_server import (
    McpServer,
    Play,
    answer,
    initialized,
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
from brain_testing.tool_driver import Call, ToolDriver, binding, said, start

pytestmark = pytest.mark.requirement("MCP-04")

HEAD = Send(head("text/event-stream"))
TAKEN = Send(response(b"", content_type=None, status="202 Accepted"))


def begin(driver: ToolDriver, server: McpServer, **caller: Any) -> Call:
    return start(driver.caller(binding(server.url("/mcp"), mcp_tool="remote"), **caller))


def progress(request: RawRequest, done: float, **members: Any) -> bytes:
    token = request.json["params"]["_meta"]["progressToken"]
    return sse(notification("progress", progressToken=token, progress=done, **members))


def works(*then: Any) -> Play:
    """Report once, then take these steps."""
    return lambda request: (HEAD, Send(progress(request, 1, total=4, message="cutting")), *then)


async def test_progress_is_passed_on_in_its_order_and_before_the_result(
    driver: ToolDriver,
) -> None:
    def call(request: RawRequest) -> Script:
        reports = [progress(request, 0.5), progress(request, 1, total=2, message="half")]
        return stream(*reports, progress(request, 2, total=2))(request)

    async with McpServer(call) as server:
        begun = begin(driver, server)
        assert said(await begun.result()) == "done"
    assert [json.loads(each) for each in begun.progress] == [
        {"progress": 0.5},
        {"progress": 1, "total": 2, "message": "half"},
        {"progress": 2, "total": 2},
    ]


async def test_progress_of_another_call_is_not_taken_for_its_own(driver: ToolDriver) -> None:
    other = sse(notification("progress", progressToken=4711, progress=1))
    odd = sse(notification("progress", progressToken={}, progress="x"))
    async with McpServer(stream(other, odd)) as server:
        begun = begin(driver, server)
        assert said(await begun.result()) == "done"
    assert begun.progress == []


async def test_an_interrupt_tells_the_server_first_and_then_drops_the_request(
    driver: ToolDriver,
) -> None:
    cancelled = plays(TAKEN, Reach("told"))
    async with McpServer(works(UntilGone()), notifications_cancelled=cancelled) as server:
        begun = begin(driver, server)
        await begun.progressed(1)
        begun.running.interrupt()
        ended = await begun.result()
        await server.reached("told")
        await server.gone()
        (told,) = server.asked("notifications/cancelled")
        assert told["params"]["requestId"] == server.calls[0].json["id"]
    assert (ended.code, ended.unknown_outcome) == ("interrupted", True)


async def test_a_server_that_does_not_take_the_news_loses_the_request_all_the_same(
    driver: ToolDriver,
) -> None:
    deaf = plays(Reach("told"), UntilGone())
    async with McpServer(works(UntilGone()), notifications_cancelled=deaf) as server:
        begun = begin(driver, server)
        await begun.progressed(1)
        begun.running.interrupt()
        assert (await begun.result()).code == "interrupted"
        await server.reached("told")
        await server.gone()
        await server.gone()
        server.answers("tools_call", result("next"))
        assert said(await begin(driver, server).result()) == "next"


async def test_an_interrupt_before_the_call_is_sent_sends_nothing(driver: ToolDriver) -> None:
    slowly: Play = lambda request: (Gate("open"), *initialized(request))  # noqa: E731
    async with McpServer(result("never"), initialize=slowly) as server:
        begun = begin(driver, server)
        await server.reached("open")
        begun.running.interrupt()
        ended = await begun.result()
        server.open("open")
        assert server.calls == []
    assert (ended.code, ended.unknown_outcome) == ("interrupted", False)


async def test_an_interrupt_of_one_call_leaves_the_others(driver: ToolDriver) -> None:
    async with McpServer(works(UntilGone())) as server:
        caller = driver.caller(binding(server.url("/mcp"), mcp_tool="remote"))
        first = start(caller)
        await first.progressed(1)
        server.answers("tools_call", works(Gate("on"), Close()))
        second = start(caller)
        await second.progressed(1)
        first.running.interrupt()
        assert (await first.result()).code == "interrupted"
        await server.gone()
        server.open("on")
        assert (await second.result()).code == "no_result"


async def test_headers_have_thirty_seconds_from_the_start_of_the_call(driver: ToolDriver) -> None:
    clock = ManualClock()
    async with McpServer(plays(Reach("called"), UntilGone())) as server:
        begun = begin(driver, server, clock=clock)
        await server.reached("called")
        await clock.asleep(1)
        await clock.advance(31)
        ended = await begun.result()
        await server.gone()
        assert len(server.asked("notifications/cancelled")) == 1
    assert (ended.code, ended.unknown_outcome) == ("timeout_headers", True)


async def test_a_handshake_that_takes_too_long_has_a_known_outcome(driver: ToolDriver) -> None:
    clock = ManualClock()
    async with McpServer(
        result("never"), server_discover=plays(Reach("asked"), UntilGone())
    ) as server:
        begun = begin(driver, server, clock=clock)
        await server.reached("asked")
        await clock.asleep(1)
        await clock.advance(31)
        ended = await begun.result()
    assert (ended.code, ended.unknown_outcome) == ("timeout_headers", False)


async def test_a_server_that_never_answers_the_handshake_is_given_up(driver: ToolDriver) -> None:
    async with McpServer(result("never"), initialize=plays(UntilGone())) as server:
        ended = await begin(driver, server, limits=Limits(headers_seconds=0.3)).result()
        assert server.calls == []
    assert ended.unknown_outcome is False


async def test_a_stream_that_never_ends_is_cut_off_at_the_time_limit(driver: ToolDriver) -> None:
    clock = ManualClock()
    async with McpServer(works(UntilGone())) as server:
        begun = begin(driver, server, clock=clock)
        await begun.progressed(1)
        await clock.asleep(1)
        await clock.advance(31)
        await clock.asleep(1)
        await clock.advance(300)
        ended = await begun.result()
        await server.gone()
    assert (ended.code, ended.unknown_outcome) == ("timeout_total", True)


async def test_a_flood_of_notifications_ends_at_the_limit(driver: ToolDriver) -> None:
    line = sse(notification("message", level="info", data="x" * 100))
    async with McpServer(plays(HEAD, Flood(line))) as server:
        ended = await begin(driver, server).result()
    assert ended.code == "too_large"


def resumed(rest: Play) -> tuple[Play, Play]:
    """A call whose stream breaks off after an event with an id, and a GET that gives the rest."""
    asked: list[RawRequest] = []

    def call(request: RawRequest) -> Script:
        asked.append(request)
        return (HEAD, Send(sse(None, "id: here", "retry: 1")), Close())

    def listen(request: RawRequest) -> Script:
        if request.header("Last-Event-ID") is None:
            return (Send(response(b"", status="405 No")),)
        assert request.header("Last-Event-ID") == "here"
        return rest(asked[0])

    return call, listen


async def test_a_stream_that_breaks_off_goes_on_where_it_was(driver: ToolDriver) -> None:
    call, listen = resumed(stream(sse(None, "id: there")))
    async with McpServer(call, GET=listen) as server:
        assert said(await begin(driver, server).result()) == "done"
        assert len(server.calls) == 1


async def test_what_is_left_of_the_limit_holds_for_the_rest_of_a_stream(
    driver: ToolDriver,
) -> None:
    call, listen = resumed(stream(sse(None, ": " + "x" * 900)))
    async with McpServer(call, GET=listen) as server:
        limited = binding(server.url("/mcp"), mcp_tool="remote", max_output_bytes=800)
        ended = await start(driver.caller(limited)).result()
    assert (ended.code, ended.unknown_outcome) == ("too_large", True)


async def test_a_server_that_has_lost_the_rest_leaves_the_outcome_open(driver: ToolDriver) -> None:
    call, listen = resumed(plays(Send(response(b"", status="404 Gone"))))
    async with McpServer(call, GET=listen) as server:
        ended = await begin(driver, server).result()
        assert len(server.calls) == 1
    assert (ended.code, ended.unknown_outcome) == ("no_result", True)


ASKED: dict[str, dict[str, Any]] = {
    "sampling/createMessage": {"messages": [], "maxTokens": 1},
    "elicitation/create": {
        "message": "Your password?",
        "requestedSchema": {"type": "object", "properties": {}},
    },
    "roots/list": {},
    "unheard/of": {},
}


@pytest.mark.parametrize("method", ASKED)
async def test_what_a_server_asks_of_its_client_is_refused(driver: ToolDriver, method: str) -> None:
    asks = {"jsonrpc": "2.0", "id": "r1", "method": method, "params": ASKED[method]}

    def call(request: RawRequest) -> Script:
        done = answer(request, result={"content": [{"type": "text", "text": "done"}]})
        return (HEAD, Send(sse(asks)), Gate("refused"), Send(sse(done)), Close())

    async with McpServer(call, answer=plays(TAKEN, Reach("answered"))) as server:
        begun = begin(driver, server)
        await server.reached("answered")
        server.open("refused")
        assert said(await begun.result()) == "done"
        (refusal,) = [each.json for each in server.requests if b'"r1"' in each.body]
        assert "error" in refusal
        assert server.asked("initialize")[0]["params"]["capabilities"] == {}
