"""An interrupt at every point of a step leaves a context that the next request can be made of."""

import pytest

from brain.engine.model.protocol import Answer, Delta
from brain_core.content import ThinkingBlock
from brain_core.usage import Usage
from brain_testing.model_stage import model_stage
from brain_testing.reading import of_type, only, said, text_of, types
from brain_testing.scripted_model import (
    USED,
    Gate,
    ScriptedModel,
    calls,
    text,
    texts,
)

pytestmark = pytest.mark.requirement("LOOP-02")


@pytest.mark.requirement("MODEL-04")
async def test_before_anything_was_said_nothing_is_kept() -> None:
    gate = Gate()
    model = ScriptedModel((gate, *text("late")))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create()
        await stage.api.send(session_id, "hi")
        await gate.reached()
        await stage.post(session_id, "interrupt")
        events = await stage.api.events(session_id)
        works = await stage.api.turn(session_id, "again")
        session = await stage.api.session(session_id)

    assert gate.left.is_set()
    assert types(events)[-2:] == ["turn.started", "turn.interrupted"]
    assert events[-1]["data"]["usage"]["input_tokens"] is None
    assert said(works) == "ok"
    assert session["usage"]["input_tokens"] == 10
    assert not model.refused


@pytest.mark.requirement("MODEL-04")
async def test_in_the_stream_what_was_said_and_used_is_kept_and_marked_and_not_said_again() -> None:
    gate = Gate()
    thought = Delta("thinking", "hm", usage=Usage(input_tokens=20))
    model = ScriptedModel((thought, Delta("text", "half a sen"), gate))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create()
        await stage.api.send(session_id, "hi")
        await gate.reached()
        await stage.post(session_id, "interrupt")
        events = await stage.api.events(session_id)
        await stage.api.turn(session_id, "again")

    message = only(events, "message.assistant")
    assert message["stop_reason"] == "interrupted"
    assert message["content"] == [
        {"type": "thinking", "text": "hm"},
        {"type": "text", "text": "half a sen"},
    ]
    for usage in (message["usage"], events[-1]["data"]["usage"]):
        assert (usage["input_tokens"], usage["output_tokens"]) == (20, None)
    assert "half" not in texts(model.requests[-1])
    assert not model.refused


async def test_in_the_middle_of_a_call_s_arguments_the_call_is_never_made() -> None:
    gate = Gate()
    model = ScriptedModel((Delta("text", "I'll ask"), Delta("tool_arguments", '{"a":'), gate))
    async with model_stage(model) as (stage, desk):
        session_id = await stage.create("ask")
        await stage.api.send(session_id, "hi")
        await gate.reached()
        await stage.post(session_id, "interrupt")
        events = await stage.api.events(session_id)
        await stage.api.turn(session_id, "again")

    assert text_of(only(events, "message.assistant")) == "I'll ask"
    assert "tool.call" not in types(events)
    assert not desk.arrived
    assert not model.refused


@pytest.mark.requirement("TOOL-09", "OUT-06")
async def test_in_the_batch_every_call_has_its_result_and_the_next_request_has_them_in_order() -> (
    None
):
    model = ScriptedModel(calls(("ask", '{"n":0}'), ("ask", '{"n":1}'), ("ask", '{"n":2}')))
    async with model_stage(model) as (stage, desk):
        session_id = await stage.create("ask")
        await stage.api.send(session_id, "hi")
        arrived = [await desk.next_call() for _ in range(3)]
        last = next(call for call in arrived if call.arguments == {"n": 2})
        async with stage.api.follow(session_id) as frames:
            last.say("done")
            async for frame in frames:
                if frame.event == "tool.result":
                    break
        await stage.post(session_id, "interrupt")
        events = await stage.api.events(session_id)
        await stage.api.turn(session_id, "again")

    assert len(of_type(events, "tool.result")) == 3
    assert types(events)[-1] == "turn.interrupted"
    assert not model.refused


@pytest.mark.requirement("TOOL-10")
async def test_an_answer_that_was_cut_off_goes_on_with_refused_calls() -> None:
    model = ScriptedModel(calls(("ask", "{}"), cut_off=True), text("again then"))
    async with model_stage(model) as (stage, desk):
        session_id = await stage.create("ask")
        events = await stage.api.turn(session_id, "hi")

    assert only(events, "tool.result")["code"] == "answer_cut_off"
    assert not desk.arrived
    assert said(events) == "again then"
    assert not model.refused


async def test_an_answer_without_a_word_is_not_said_to_the_model_again() -> None:
    thought = ThinkingBlock("hm")
    model = ScriptedModel(text(""), (Answer((thought,), "end_turn", USED),))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create()
        await stage.api.turn(session_id, "hi")
        await stage.api.turn(session_id, "hi")
        events = await stage.api.turn(session_id, "hi")

    assert said(events) == "ok"
    assert not model.refused
