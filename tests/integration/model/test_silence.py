"""How long a provider may be silent, by a clock that the test moves (MODEL-05)."""

import asyncio

import pytest

from brain.engine.model.protocol import Delta, Failure
from brain_core.usage import Usage
from brain_testing.desk import within
from brain_testing.manual_clock import ManualClock
from brain_testing.model_driver import ANTHROPIC, CHAT, RESPONSES, Heard, ModelDriver, hear
from brain_testing.model_turns import asked
from brain_testing.raw_script import Gate, Read, Script, Send, Step, UntilGone, head
from brain_testing.tool_server import ToolServer

pytestmark = pytest.mark.requirement("MODEL-05")

STREAM = head("text/event-stream", "Connection: close")
PIECE = b'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}\n\n'
END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
SIGNS = {
    "a comment": (CHAT, b": OPENROUTER PROCESSING\n\n"),
    "an event without choices": (CHAT, b'data: {"choices":[]}\n\n'),
    "an empty piece": (CHAT, b'data: {"choices":[{"index":0,"delta":{"content":""}}]}\n\n'),
    "Anthropic's ping": (ANTHROPIC, b'event: ping\ndata: {"type":"ping"}\n\n'),
    "OpenAI's keepalive": (RESPONSES, b'data: {"type":"keepalive","sequence_number":3}\n\n'),
}
IDLE = "The model's provider was silent for too long."


@pytest.mark.parametrize(
    "sent",
    [(), (Send(STREAM),), (Send(STREAM + b": hello\n\n"),), (Send(STREAM + PIECE),)],
    ids=["no answer", "headers", "a comment", "a piece"],
)
async def test_silence_for_120_seconds_may_be_tried_again(
    sent: tuple[Step, ...], driver: ModelDriver
) -> None:
    script: Script = (Read(), *sent, Gate("silent"), UntilGone())
    async with ToolServer(*script) as server:
        clock = ManualClock()
        call = asyncio.ensure_future(hear(driver.model(server, clock=clock), asked()))
        await server.reached("silent")
        server.open("silent")
        await clock.asleep(1)
        await clock.advance(119)
        assert not call.done()
        await clock.advance(121)
        failure = (await within(call)).failure
        await within(server.gone())

    assert failure == Failure("idle_timeout", f"{IDLE} It sent nothing for 120 s.", True, Usage())


@pytest.mark.parametrize("sign", SIGNS)
async def test_signs_of_life_end_a_silence_but_not_for_ever(sign: str, driver: ModelDriver) -> None:
    api, data = SIGNS[sign]
    gates = [step for n in range(7) for step in (Gate(f"{n}"), Send(data))]
    async with ToolServer(Read(), Send(STREAM), *gates, UntilGone()) as server:
        clock = ManualClock()
        call = asyncio.ensure_future(hear(driver.model(server, api, clock=clock), asked()))
        for n in range(6):
            await server.reached(f"{n}")
            await clock.asleep(1)
            await clock.advance(100)
            assert call.done() == (n == 5), n
            server.open(f"{n}")
            await _read_what_was_sent(server, f"{n + 1}") if n < 5 else None
        failure = (await within(call)).failure

    assert failure.code == "idle_timeout"
    assert failure.transient
    assert failure.message == f"{IDLE} It sent only signs of life for 600 s."


async def test_an_answer_that_grows_may_take_any_time(driver: ModelDriver) -> None:
    gates = [step for n in range(9) for step in (Gate(f"{n}"), Send(PIECE))]
    async with ToolServer(Read(), Send(STREAM), *gates, Send(END)) as server:
        clock, heard = ManualClock(), Heard()
        model = driver.model(server, clock=clock)
        call = asyncio.ensure_future(hear(model, asked(), heard))
        for n in range(9):
            await server.reached(f"{n}")
            await clock.asleep(1)
            await clock.advance(110)
            server.open(f"{n}")
            await within(_has_deltas(heard, n + 1))
        assert (await within(call)).text() == "Hi" * 9


async def test_time_in_which_nobody_reads_is_no_silence(driver: ModelDriver) -> None:
    async with ToolServer(Read(), Send(STREAM + PIECE), Gate("read"), Send(END)) as server:
        clock = ManualClock()
        stream = driver.model(server, clock=clock).stream(asked())
        assert await within(anext(stream)) == Delta("text", "Hi")
        await clock.asleep(1)
        await clock.advance(500)
        server.open("read")
        assert not isinstance(await within(anext(stream)), Failure)
        await stream.aclose()


async def test_a_provider_that_begins_an_error_and_falls_silent_is_known_by_its_status(
    driver: ModelDriver,
) -> None:
    began = head("application/json", "Content-Length: 99", status="503 Unavailable") + b"{"
    async with ToolServer(Read(), Send(began), Gate("silent"), UntilGone()) as server:
        clock = ManualClock()
        call = asyncio.ensure_future(hear(driver.model(server, clock=clock), asked()))
        await server.reached("silent")
        server.open("silent")
        while not call.done():
            await clock.advance(60)
            await asyncio.sleep(0)
        assert (await call).failure.code == "overloaded"


async def _has_deltas(heard: Heard, count: int) -> None:
    while len(heard.deltas) < count:
        await asyncio.sleep(0)


async def _read_what_was_sent(server: ToolServer, gate: str) -> None:
    """Once the script is at its next gate, what it sent before is read within a few rounds."""
    for _ in range(200):
        await asyncio.sleep(0)
