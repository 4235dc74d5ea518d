"""Streams as the providers document them, through a whole Brain."""

import pytest

from brain_testing.model_server import Dialect, Recorded, Say
from brain_testing.model_server.recordings import RECORDED, SAID
from brain_testing.model_server.stage import Play
from brain_testing.reading import of_type, said, text_of, types

pytestmark = pytest.mark.requirement("MODEL-01", "LOOP-01")


async def test_a_recorded_stream_is_thought_said_called_and_counted(
    play: Play, dialect: Dialect
) -> None:
    stage = await play((Recorded(RECORDED[dialect]),), (Say("Seven it is."),))
    session_id = await stage.create("ask", thinking="high")
    await stage.api.send(session_id, "Check seven.")
    call = await stage.desk.next_call()
    call.say("fine")
    events = await stage.api.until_idle(session_id)

    message = of_type(events, "message.assistant")[0]
    assert call.arguments == {"n": 7}
    assert text_of(message) == SAID
    assert [block["type"] for block in message["content"]] == ["thinking", "text", "tool_call"]
    assert message["usage"] == {
        "input_tokens": 29,
        "output_tokens": 30,
        "cache_read_tokens": 32,
        "cache_write_tokens": 0,
        "reasoning_tokens": 12,
        "cost_usd": None,
    }
    assert said(events) == "Seven it is."
    assert "turn.completed" in types(events)
    told = "\n".join(stage.told())
    assert "thinking: The user wants" in told
    assert told.endswith(f'assistant: {SAID}\ncall 0: ask {{"n":7}}\nresult 0: fine')
