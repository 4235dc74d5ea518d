"""An interrupt at every stage of a call (OUT-06, OUT-11)."""

import pytest

from brain_testing.raw_script import (
    Gate,
    Reach,
    Read,
    Send,
    UntilGone,
    answers,
    event,
    head,
    ok,
)
from brain_testing.tool_driver import ToolDriver, binding, said, start
from brain_testing.tool_server import ToolServer

pytestmark = pytest.mark.requirement("OUT-06", "OUT-11", "TOOL-09")

ENDLESS = {
    "$ref": "#/$defs/a0",
    "$defs": {
        **{f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(60)},
        "a60": {"type": "object"},
    },
}
"""A schema that takes 2 to the power of 60 steps."""


async def test_before_the_call_has_begun_nothing_is_sent(driver: ToolDriver) -> None:
    async with ToolServer(*answers(ok())) as server:
        call = start(driver.caller(binding(server.url())))
        call.running.interrupt()
        result = await call.result()
        assert server.connections == 0
    assert (result.code, result.is_error, result.unknown_outcome) == ("interrupted", True, False)
    assert "nothing happened" in said(result)


async def test_while_the_arguments_are_checked_nothing_is_sent(driver: ToolDriver) -> None:
    async with ToolServer(*answers(ok())) as server:
        caller = driver.caller(binding(server.url(), input_schema=ENDLESS))
        call = start(caller)
        await call.begun()
        call.running.interrupt()
        result = await call.result()
        assert server.connections == 0
    assert (result.code, result.unknown_outcome) == ("interrupted", False)


async def test_while_it_connects_the_outcome_is_unknown(driver: ToolDriver) -> None:
    # A server that accepts and says nothing: the TLS handshake never ends.
    async with ToolServer(Reach("accepted"), UntilGone()) as server:
        url = server.url().replace("http:", "https:")
        call = start(driver.caller(binding(url)))
        await server.reached("accepted")
        call.running.interrupt()
        result = await call.result()
        await server.gone()
    assert (result.code, result.unknown_outcome) == ("interrupted", True)


async def test_while_it_waits_for_headers_the_connection_goes(driver: ToolDriver) -> None:
    async with ToolServer(Read(), Reach("read"), UntilGone()) as server:
        call = start(driver.caller(binding(server.url())))
        await server.reached("read")
        call.running.interrupt()
        result = await call.result()
        await server.gone()
    assert (result.code, result.unknown_outcome) == ("interrupted", True)
    assert "may or may not have happened" in said(result)


async def test_in_a_json_body_the_connection_goes(driver: ToolDriver) -> None:
    script = (Read(), Send(head("application/json") + b'{"content":'), Reach("half"), UntilGone())
    async with ToolServer(*script) as server:
        call = start(driver.caller(binding(server.url())))
        await server.reached("half")
        call.running.interrupt()
        result = await call.result()
        await server.gone()
    assert (result.code, result.unknown_outcome) == ("interrupted", True)


async def test_in_a_stream_the_connection_goes(driver: ToolDriver) -> None:
    script = (Read(), Send(head("text/event-stream") + event("progress", 1)), UntilGone())
    async with ToolServer(*script) as server:
        call = start(driver.caller(binding(server.url())))
        await call.progressed(1)
        call.running.interrupt()
        result = await call.result()
        await server.gone()
    assert (result.code, result.unknown_outcome) == ("interrupted", True)
    assert call.progress == [b"1"]


async def test_while_the_request_is_written_the_connection_goes(driver: ToolDriver) -> None:
    arguments = '{"text":"' + "x" * 8_000_000 + '"}'
    async with ToolServer(Gate("accepted"), UntilGone()) as server:
        call = start(driver.caller(binding(server.url())), arguments)
        await server.reached("accepted")
        call.running.interrupt()
        result = await call.result()
        server.open("accepted")
        await server.gone()
    assert (result.code, result.unknown_outcome) == ("interrupted", True)


async def test_after_the_result_it_changes_nothing(driver: ToolDriver) -> None:
    async with ToolServer(*answers(ok())) as server:
        call = start(driver.caller(binding(server.url())))
        result = await call.result()
        call.running.interrupt()
        assert await call.result() is result
    assert not result.is_error


async def test_twice_is_the_same_as_once(driver: ToolDriver) -> None:
    async with ToolServer(Read(), Reach("read"), UntilGone()) as server:
        call = start(driver.caller(binding(server.url())))
        await server.reached("read")
        call.running.interrupt()
        call.running.interrupt()
        assert (await call.result()).code == "interrupted"


@pytest.mark.requirement("TOOL-08")
async def test_in_a_batch_each_call_keeps_its_own_outcome(driver: ToolDriver) -> None:
    async with ToolServer() as server:
        server.plays(*answers(ok("done")), path="/done")
        server.plays(Read(), Reach("hanging"), UntilGone(), path="/hangs")
        caller = driver.caller(
            binding(server.url("/done"), name="done"), binding(server.url("/hangs"), name="hangs")
        )
        done = [start(caller, name="done") for _ in range(3)]
        hanging = [start(caller, name="hangs") for _ in range(7)]
        for call in done:
            assert said(await call.result()) == "done"
        for _ in hanging:
            await server.reached("hanging")
        for call in done + hanging:
            call.running.interrupt()
        for call in hanging:
            result = await call.result()
            assert (result.code, result.unknown_outcome) == ("interrupted", True)
            await server.gone()
        again = start(caller, name="done")
        assert said(await again.result()) == "done"
        assert set(server.counts().values()) == {1}
