"""The main job of the tool layer, over HTTP JSON and SSE."""

import pytest

from brain_testing.raw_script import Gate, Read, Send, UntilGone, answers, event, head, ok
from brain_testing.tool_driver import ToolDriver, binding, said, start
from brain_testing.tool_server import ToolServer


@pytest.mark.requirement("TOOL-03", "TOOL-04", "REPLY-01")
async def test_a_json_result_is_the_result_of_the_call(driver: ToolDriver) -> None:
    async with ToolServer(*answers(ok("hello"))) as server:
        caller = driver.caller(binding(server.url()))
        call = start(caller, '{"text": "hello"}')
        result = await call.result()
    assert said(result) == "hello"
    assert not result.is_error
    (request,) = server.requests
    assert request.json == {
        "tenant_id": "local",
        "session_id": "ses_test",
        "call_id": call.call_id,
        "arguments": {"text": "hello"},
    }


@pytest.mark.requirement("REPLY-06", "REPLY-07")
async def test_progress_is_passed_on_while_the_tool_works(driver: ToolDriver) -> None:
    script = (
        Read(),
        Send(head("text/event-stream") + event("progress", {"status": "waiting"})),
        Gate("operator"),
        Send(event("result", ok("yes"))),
        UntilGone(),
    )
    async with ToolServer(*script) as server:
        call = start(driver.caller(binding(server.url())))
        await server.reached("operator")
        server.open("operator")
        result = await call.result()
        await server.gone()
    assert call.progress == [b'{"status":"waiting"}']
    assert said(result) == "yes"


@pytest.mark.requirement("OUT-02", "TOOL-02")
async def test_invalid_arguments_are_refused_and_nothing_is_sent(driver: ToolDriver) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "number"}}}
    async with ToolServer(*answers(ok())) as server:
        caller = driver.caller(binding(server.url(), input_schema=schema))
        result = await start(caller, '{"n": "42"}').result()
    assert result.code == "refused_arguments"
    assert (result.is_error, result.unknown_outcome) == (True, False)
    assert '/n: "42" is not of type "number"' in said(result)
    assert server.connections == 0


@pytest.mark.requirement("OUT-06", "OUT-11")
async def test_an_interrupt_drops_the_request(driver: ToolDriver) -> None:
    async with ToolServer(Read(), Gate("working"), UntilGone()) as server:
        call = start(driver.caller(binding(server.url())))
        await server.reached("working")
        call.running.interrupt()
        server.open("working")
        result = await call.result()
        await server.gone()
    assert result.code == "interrupted"
    assert (result.is_error, result.unknown_outcome) == (True, True)
