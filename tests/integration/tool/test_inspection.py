"""Inspection tokens live as long as their call (INS-01, INS-02)."""

import pytest

from brain_testing.raw_script import Gate, Read, Send, UntilGone, answers, ok, response
from brain_testing.tool_driver import ToolDriver, binding, start
from brain_testing.tool_server import ToolServer

pytestmark = pytest.mark.requirement("INS-01", "INS-02")


async def test_the_token_reads_its_session_until_the_call_returns(driver: ToolDriver) -> None:
    async with ToolServer(Read(), Gate("gate"), Send(response(ok()))) as server:
        call = start(driver.caller(binding(server.url(), inspect_session=True)))
        await server.reached("gate")
        token = server.requests[0].json["inspection_token"]
        assert driver.inspections.resolve(token) == ("local", "ses_test")
        server.open("gate")
        await call.result()
        assert driver.inspections.resolve(token) is None


async def test_an_interrupt_revokes_the_token(driver: ToolDriver) -> None:
    async with ToolServer(Read(), Gate("gate"), UntilGone()) as server:
        call = start(driver.caller(binding(server.url(), inspect_session=True)))
        await server.reached("gate")
        token = server.requests[0].json["inspection_token"]
        call.running.interrupt()
        await call.result()
        assert driver.inspections.resolve(token) is None


async def test_each_call_has_a_token_of_its_own(driver: ToolDriver) -> None:
    async with ToolServer(*answers(ok())) as server:
        caller = driver.caller(binding(server.url(), inspect_session=True))
        for _ in range(2):
            await start(caller).result()
        first, second = (request.json["inspection_token"] for request in server.requests)
    assert first != second
    assert len(first) > 40


async def test_the_token_is_in_no_result(driver: ToolDriver) -> None:
    async with ToolServer(*answers("", status="500 Oops")) as server:
        result = await start(driver.caller(binding(server.url(), inspect_session=True))).result()
        token = server.requests[0].json["inspection_token"]
    assert token not in repr(result)


def test_what_is_no_token_reads_nothing(driver: ToolDriver) -> None:
    assert driver.inspections.resolve("") is None
    assert driver.inspections.resolve("insp_x\ud800") is None
