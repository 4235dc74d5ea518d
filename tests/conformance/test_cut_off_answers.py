"""A model's answer that its length limit cut off runs none of its calls (TOOL-10)."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable

import pytest

from brain.engine.model.protocol import Answer, ModelRequest, RequestedCall, ToolTurn
from brain.wiring import Tuning
from brain_core.content import TextBlock
from brain_core.usage import Usage
from brain_testing.api import Api
from brain_testing.plugin import StartBrain
from brain_testing.raw_script import answers, ok
from brain_testing.reading import of_type, said, text_of
from brain_testing.tool_server import ToolServer


class CutOffModel:
    """Asks for two calls in an answer that was cut off, and then says what it was told."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Answer, None]:
        told = [turn for turn in request.turns if isinstance(turn, ToolTurn)]
        if told:
            heard = TextBlock(f"{len(told)} errors" if all(turn.is_error for turn in told) else "?")
            yield Answer((heard,), "end_turn", Usage())
        else:
            calls = (RequestedCall("ask", '{"whole":1}'), RequestedCall("ask", '{"half":'))
            yield Answer(calls, "length", Usage())


@pytest.fixture
async def server() -> AsyncIterator[ToolServer]:
    async with ToolServer(*answers(ok())) as opened:
        yield opened


@pytest.mark.requirement("TOOL-10", "TOOL-09", "OUT-08")
async def test_none_of_its_calls_is_sent_and_each_gets_an_error_that_says_so(
    server: ToolServer, start_brain: StartBrain, connect: Callable[..., Api]
) -> None:
    tool = {
        "name": "ask",
        "description": "A tool.",
        "input_schema": {"type": "object"},
        "url": server.url(),
        "tenants": ["local"],
    }
    tuning = Tuning(models={"cut": CutOffModel()})
    api = connect(await start_brain(tools=[tool], tuning=tuning))
    events = await api.turn(await api.create("ask", model="cut/off"), "go")

    results = of_type(events, "tool.result")
    called = [data["call_id"] for data in of_type(events, "tool.call")]
    assert [data["call_id"] for data in results] == called
    assert len(called) == 2
    for result in results:
        assert (result["is_error"], result["unknown_outcome"]) == (True, False)
        assert result["code"] == "answer_cut_off"
        assert "length limit" in text_of(result)
    assert said(events) == "2 errors"
    assert server.connections == 0
