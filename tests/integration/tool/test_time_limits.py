"""Two time limits on every call, with a clock that only the test moves (OUT-09)."""

import pytest

from brain_testing.manual_clock import ManualClock
from brain_testing.raw_script import Gate, Read, Send, UntilGone, event, head, ok, response
from brain_testing.tool_driver import Call, ToolDriver, binding, said, start
from brain_testing.tool_server import ToolServer

pytestmark = pytest.mark.requirement("OUT-03", "OUT-08", "OUT-09")


async def begin(
    driver: ToolDriver, server: ToolServer, clock: ManualClock, timeout: int = 300
) -> Call:
    """A call whose service has reached its gate, and whose time runs."""
    call = start(driver.caller(binding(server.url(), timeout_seconds=timeout), clock=clock))
    await server.reached("gate")
    await clock.asleep(1)
    return call


async def test_headers_after_29_seconds_are_in_time(driver: ToolDriver) -> None:
    clock = ManualClock()
    async with ToolServer(Read(), Gate("gate"), Send(response(ok()))) as server:
        call = await begin(driver, server, clock)
        await clock.advance(29)
        server.open("gate")
        assert said(await call.result()) == "ok"


async def test_headers_after_31_seconds_are_too_late(driver: ToolDriver) -> None:
    clock = ManualClock()
    async with ToolServer(Read(), Gate("gate"), UntilGone()) as server:
        call = await begin(driver, server, clock)
        await clock.advance(31)
        result = await call.result()
        server.open("gate")
        await server.gone()
    assert (result.code, result.unknown_outcome) == ("timeout_headers", True)
    assert "may or may not have happened" in said(result)


async def test_headers_that_never_end_are_too_late(driver: ToolDriver) -> None:
    clock = ManualClock()
    begun = Send(b"HTTP/1.1 200 OK\r\nContent-Type: app")
    async with ToolServer(Read(), begun, Gate("gate"), UntilGone()) as server:
        call = await begin(driver, server, clock)
        await clock.advance(31)
        assert (await call.result()).code == "timeout_headers"


async def test_informational_responses_are_no_headers(driver: ToolDriver) -> None:
    clock = ManualClock()
    begun = Send(b"HTTP/1.1 102 Processing\r\n\r\n")
    async with ToolServer(Read(), begun, Gate("gate"), UntilGone()) as server:
        call = await begin(driver, server, clock)
        await clock.advance(31)
        assert (await call.result()).code == "timeout_headers"


async def test_once_the_headers_are_there_only_the_whole_time_counts(driver: ToolDriver) -> None:
    clock = ManualClock()
    begun = Send(head("text/event-stream") + event("progress", 1))
    script = (Read(), begun, Gate("gate"), Send(event("result", ok())), UntilGone())
    async with ToolServer(*script) as server:
        call = await begin(driver, server, clock)
        await call.progressed(1)
        await clock.advance(299)
        server.open("gate")
        assert said(await call.result()) == "ok"


async def test_a_stream_is_cut_off_when_the_whole_time_is_over(driver: ToolDriver) -> None:
    clock = ManualClock()
    begun = Send(head("text/event-stream") + event("progress", 1))
    async with ToolServer(Read(), begun, Gate("gate"), UntilGone()) as server:
        call = await begin(driver, server, clock)
        await call.progressed(1)
        server.open("gate")
        await clock.advance(301)
        result = await call.result()
        await server.gone()
    assert (result.code, result.unknown_outcome) == ("timeout_total", True)


async def test_a_body_that_trickles_is_cut_off(driver: ToolDriver) -> None:
    clock = ManualClock()
    trickle = tuple(step for n in range(5) for step in (Gate(f"drop {n}"), Send(b"x")))
    script = (Read(), Send(head("application/json")), Gate("gate"), *trickle, UntilGone())
    async with ToolServer(*script) as server:
        call = await begin(driver, server, clock, timeout=60)
        server.open("gate")
        for n in range(5):
            await server.reached(f"drop {n}")
            await clock.advance(11)
            server.open(f"drop {n}")
        await clock.advance(11)
        result = await call.result()
        await server.gone()
    assert result.code == "timeout_total"


async def test_a_short_whole_time_comes_before_the_time_for_headers(driver: ToolDriver) -> None:
    clock = ManualClock()
    async with ToolServer(Read(), Gate("gate"), UntilGone()) as server:
        call = await begin(driver, server, clock, timeout=1)
        await clock.advance(1)
        assert (await call.result()).code == "timeout_total"


async def test_a_service_that_never_reads_is_given_up(driver: ToolDriver) -> None:
    clock = ManualClock()
    arguments = '{"text":"' + "x" * 8_000_000 + '"}'
    async with ToolServer(Gate("gate"), UntilGone()) as server:
        call = start(driver.caller(binding(server.url()), clock=clock), arguments)
        await server.reached("gate")
        await clock.asleep(1)
        await clock.advance(31)
        result = await call.result()
        # The connection is gone, with what was still to be written to it.
        server.open("gate")
        await server.gone()
    assert (result.code, result.unknown_outcome) == ("timeout_headers", True)
