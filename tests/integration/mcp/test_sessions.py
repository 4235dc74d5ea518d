"""One MCP session for each Brain session and server: when it opens, and when it closes."""

import pytest

from brain.engine.tool.limits import Limits
from brain_testing.mcp_server import SESSION, McpServer, Play, initialized, plays, result, stream
from brain_testing.raw_script import Close, Gate, Reach, Send, UntilGone, head, response
from brain_testing.tool_driver import ToolDriver, binding, said, start

pytestmark = pytest.mark.requirement("MCP-01", "MCP-05")

LISTENING = (Send(head("text/event-stream")), Reach("listening"), UntilGone())


async def test_the_first_calls_at_once_open_one_session(driver: ToolDriver) -> None:
    async with McpServer(result("hi")) as server:
        caller = driver.caller(binding(server.url("/mcp"), mcp_tool="remote"))
        calls = [start(caller) for _ in range(8)]
        assert [said(await call.result()) for call in calls] == ["hi"] * 8
        assert len(server.asked("initialize")) == 1
        assert len(server.asked("notifications/initialized")) == 1


async def test_each_brain_session_has_a_session_of_its_own(driver: ToolDriver) -> None:
    async with McpServer(result("hi")) as server:
        caller = driver.caller(
            binding(server.url("/mcp"), mcp_tool="remote", tenants=frozenset({"local", "other"})),
            binding(server.url("/mcp"), name="keyed", mcp_tool="remote", token="another"),
        )
        for tenant, session, name in (
            ("local", "ses_1", "test"),
            ("local", "ses_2", "test"),
            ("other", "ses_1", "test"),
            ("local", "ses_1", "keyed"),
            ("local", "ses_1", "test"),
        ):
            call = start(caller, tenant_id=tenant, session_id=session, name=name)
            assert said(await call.result()) == "hi"
        assert len(server.asked("initialize")) == 4


async def test_a_slow_call_holds_up_no_other_of_its_session(driver: ToolDriver) -> None:
    async with McpServer(plays(Gate("slow"), Close())) as server:
        caller = driver.caller(binding(server.url("/mcp"), mcp_tool="remote"))
        slow = start(caller)
        await server.reached("slow")
        server.answers("tools_call", result("quick"))
        assert said(await start(caller).result()) == "quick"
        server.open("slow")
        assert (await slow.result()).code == "connection_lost"


async def test_an_interrupt_while_it_opens_leaves_it_to_the_others(driver: ToolDriver) -> None:
    slowly: Play = lambda request: (Gate("open"), *initialized(request))  # noqa: E731
    async with McpServer(result("hi"), initialize=slowly) as server:
        caller = driver.caller(binding(server.url("/mcp"), mcp_tool="remote"))
        first, second = start(caller), start(caller)
        await server.reached("open")
        first.running.interrupt()
        ended = await first.result()
        assert (ended.code, ended.unknown_outcome) == ("interrupted", False)
        server.open("open")
        assert said(await second.result()) == "hi"
        assert len(server.asked("tools/call")) == 1


async def test_a_session_that_nobody_uses_is_closed(driver: ToolDriver) -> None:
    async with McpServer(result("hi"), DELETE=plays(Send(response(b"")), Reach("bye"))) as server:
        caller = driver.caller(
            binding(server.url("/mcp"), mcp_tool="remote"), limits=Limits(mcp_idle_seconds=0.01)
        )
        assert said(await start(caller).result()) == "hi"
        await server.reached("bye")
        (bye,) = server.asked_by("DELETE")
        assert bye.header("Mcp-Session-Id") == SESSION
        assert said(await start(caller).result()) == "hi"
        assert len(server.asked("initialize")) == 2


async def test_a_session_ends_with_the_brain_session(driver: ToolDriver) -> None:
    async with McpServer(result("hi"), DELETE=plays(Send(response(b"")), Reach("bye"))) as server:
        caller = driver.caller(binding(server.url("/mcp"), mcp_tool="remote"))
        await start(caller, session_id="ses_1").result()
        await start(caller, session_id="ses_2").result()
        caller.forget("ses_1")
        await server.reached("bye")
        assert len(server.asked_by("DELETE")) == 1


async def test_the_oldest_idle_session_makes_room_for_a_new_one(driver: ToolDriver) -> None:
    async with McpServer(result("hi"), DELETE=plays(Send(response(b"")), Reach("bye"))) as server:
        caller = driver.caller(
            binding(server.url("/mcp"), mcp_tool="remote"), limits=Limits(mcp_sessions=2)
        )
        for number in range(3):
            await start(caller, session_id=f"ses_{number}").result()
        await server.reached("bye")
        await start(caller, session_id="ses_2").result()
        assert len(server.asked("initialize")) == 3


async def test_a_restart_that_shows_on_the_servers_own_stream_costs_no_call(
    driver: ToolDriver,
) -> None:
    async with McpServer(result("hi"), GET=plays(*LISTENING)) as server:
        caller = driver.caller(binding(server.url("/mcp"), mcp_tool="remote"))
        assert said(await start(caller).result()) == "hi"
        await server.reached("listening")
        forgotten = plays(Send(response(b"", status="404 Gone")), Reach("forgotten"))
        server.answers("GET", forgotten)
        server.hang_up()
        await server.reached("forgotten")
        while len(server.asked("initialize")) < 2:
            assert said(await start(caller).result()) == "hi"


async def test_a_notification_that_nobody_answers_holds_up_nothing(driver: ToolDriver) -> None:
    asks = {"jsonrpc": "2.0", "id": "r1", "method": "roots/list"}

    async with McpServer(stream(asks), answer=plays(Reach("answered"), UntilGone())) as server:
        caller = driver.caller(binding(server.url("/mcp"), mcp_tool="remote"))
        assert said(await start(caller).result()) == "done"
        await server.reached("answered")
        assert said(await start(caller).result()) == "done"
