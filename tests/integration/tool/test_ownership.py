"""An engine that may have lost its sessions to another sends no call any more (REC-05).

A machine may be paused at any moment, for so long that others take over what it did; when it
goes on it doesn't know. So the lease is looked at when the connection is ready, right before the
request.
"""

import pytest

from brain_testing.mcp_server import McpServer
from brain_testing.mcp_server import result as answer
from brain_testing.raw_script import answers, ok
from brain_testing.tool_driver import ToolDriver, binding, said, start
from brain_testing.tool_server import ToolServer

pytestmark = pytest.mark.requirement("REC-05")


async def test_once_the_lease_is_over_nothing_is_sent_over_a_new_connection(
    driver: ToolDriver,
) -> None:
    async with ToolServer(*answers(ok())) as server:
        result = await start(driver.caller(binding(server.url()), may_send=lambda: False)).result()
        assert server.requests == []
    assert (result.code, result.unknown_outcome) == ("refused_unavailable", False)
    assert said(result).endswith("The tool was not called, so nothing happened.")


async def test_once_the_lease_is_over_nothing_is_sent_over_a_kept_connection(
    driver: ToolDriver,
) -> None:
    lease = [True]
    async with ToolServer(*answers(ok("one")), *answers(ok("two"))) as server:
        caller = driver.caller(binding(server.url()), may_send=lambda: lease[0])
        assert said(await start(caller).result()) == "one"
        lease[0] = False
        late = await start(caller).result()
        assert len(server.requests) == 1
    assert (late.code, late.unknown_outcome) == ("refused_unavailable", False)


async def test_once_the_lease_is_over_an_mcp_server_is_sent_no_call(driver: ToolDriver) -> None:
    lease = [True]
    async with McpServer(answer("one")) as server:
        bound = binding(server.url("/mcp"), mcp_tool="remote")
        caller = driver.caller(bound, may_send=lambda: lease[0])
        assert said(await start(caller).result()) == "one"
        lease[0] = False
        late = await start(caller).result()
        assert len(server.calls) == 1
    assert (late.code, late.unknown_outcome) == ("refused_unavailable", False)
