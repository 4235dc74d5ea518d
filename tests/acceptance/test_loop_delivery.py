"""What becomes of messages that wait when a turn can't go on, and of those that end it."""

import asyncio

import pytest

from brain.engine.model.protocol import Delta
from brain_core.usage import Usage
from brain_testing.desk import within
from brain_testing.model_stage import model_stage
from brain_testing.reading import Json, of_type, only, said, types
from brain_testing.scripted_model import (
    Gate,
    ScriptedModel,
    calls,
    fails,
    text,
    texts,
)
from brain_testing.slow_log import SlowLog

pytestmark = pytest.mark.requirement("MSG-02")


def turns(events: list[Json]) -> list[list[str]]:
    """The messages that each turn began with."""
    return [each["message_ids"] for each in of_type(events, "turn.started")]


def stop_reasons(events: list[Json]) -> list[str]:
    return [each["stop_reason"] for each in of_type(events, "turn.completed")]


@pytest.mark.requirement("LOOP-05")
@pytest.mark.parametrize("limit", [{"max_steps": 1}, {"budget": {"tokens": 15}}], ids=str)
async def test_a_steer_that_no_call_of_its_turn_may_answer_has_a_turn_of_its_own(
    limit: Json,
) -> None:
    gate = Gate()
    model = ScriptedModel((gate, *text("one")), text("two"))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create(**limit)
        await stage.api.send(session_id, "hi")
        await gate.reached()
        steer = await stage.api.send(session_id, "to the left", delivery="steer")
        gate.open()
        events = await stage.api.until_idle(session_id)

    assert "message.delivered" not in types(events)
    assert turns(events)[1] == [steer["message_id"]]
    answered = "budget" not in limit
    assert stop_reasons(events) == ["end_turn", "end_turn" if answered else "budget"]
    assert said(events) == ("two" if answered else "one")


async def test_a_steer_that_comes_with_the_last_answer_is_answered_in_the_same_turn() -> None:
    gate = Gate()
    model = ScriptedModel((gate, *text("one")), text("two"))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create()
        await stage.api.send(session_id, "hi")
        await gate.reached()
        await stage.api.send(session_id, "to the left", delivery="steer")
        gate.open()
        events = await stage.api.until_idle(session_id)

    assert len(turns(events)) == 1
    assert said(events) == "two"
    assert "to the left" in texts(model.requests[1])
    assert not model.refused


@pytest.mark.requirement("LOOP-03")
async def test_steers_outlive_the_turn_that_failed_and_are_given_together() -> None:
    gate = Gate()
    model = ScriptedModel((gate, *fails("auth_failed")), text("two"))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create()
        await stage.api.send(session_id, "hi")
        await gate.reached()
        for words in ("to the left", "to the right"):
            await stage.api.send(session_id, words, delivery="steer")
        gate.open()
        events = await stage.api.until_idle(session_id)

    assert types(events).count("turn.failed") == 1
    assert len(turns(events)) == 2
    assert len(only(events, "message.delivered")["message_ids"]) == 1
    assert "to the left" in texts(model.requests[1])
    assert "to the right" in texts(model.requests[1])
    assert len(model.requests) == 2


async def test_a_steer_is_kept_with_the_queue_when_the_turn_is_interrupted() -> None:
    gate = Gate()
    model = ScriptedModel((gate, *text("never")), text("two"), text("three"))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create()
        await stage.api.send(session_id, "hi")
        await gate.reached()
        queued = await stage.api.send(session_id, "next")
        steer = await stage.api.send(session_id, "to the left", delivery="steer")
        await stage.post(session_id, "interrupt", {"keep_queue": True})
        events = await stage.api.until_idle(session_id)

    assert turns(events)[1:] == [[queued["message_id"]]]
    assert only(events, "message.delivered")["message_ids"] == [steer["message_id"]]
    assert said(events) == "two"


async def test_several_messages_that_interrupt_share_the_next_turn_before_all_that_waited() -> None:
    model, log = ScriptedModel(calls(("ask", "{}")), text("to both"), text("last")), SlowLog()
    async with model_stage(model, log=log) as (stage, desk):
        session_id = await stage.create("ask")
        await stage.api.send(session_id, "hi")
        await desk.next_call()
        queued = await stage.api.send(session_id, "later")
        log.hold("tool.result")  # so that the turn can't end before both have come
        first = await stage.api.send(session_id, "no", delivery="interrupt")
        await log.held(1)
        sending = asyncio.create_task(stage.api.send(session_id, "no!", delivery="interrupt"))
        await log.held(2)
        log.release()
        second = await within(sending)
        events = await stage.api.until_idle(session_id)

    interrupting = [first["message_id"], second["message_id"]]
    assert turns(events)[1:] == [interrupting, [queued["message_id"]]]
    assert len(of_type(events, "turn.interrupted")) == 1
    assert said(events) == "last"
    assert not model.refused


@pytest.mark.requirement("REC-02")
async def test_a_message_that_interrupts_does_so_though_the_engine_died_meanwhile() -> None:
    gate, log = Gate(), SlowLog()
    model = ScriptedModel((Delta("text", "half"), gate), text("instead"))
    async with model_stage(model, log=log) as (stage, _):
        session_id = await stage.create()
        await stage.api.send(session_id, "hi")
        await gate.reached()
        log.hold("turn.interrupted")
        sent = await stage.api.send(session_id, "stop that", delivery="interrupt")
        await log.held(1)
        await stage.restart()
        events = await stage.api.until_idle(session_id)

    assert types(events)[4:6] == ["turn.recovered", "turn.interrupted"]
    assert only(events, "turn.interrupted")["reason"] == "message"
    assert turns(events)[1:] == [[sent["message_id"]]]
    assert said(events) == "instead"
    assert len(model.requests) == 2
    assert not model.refused


@pytest.mark.requirement("MSG-03")
async def test_a_steer_that_was_withdrawn_during_the_batch_is_not_given_to_the_model() -> None:
    model = ScriptedModel(calls(("ask", "{}")), text("done"))
    async with model_stage(model) as (stage, desk):
        session_id = await stage.create("ask")
        await stage.api.send(session_id, "hi")
        call = await desk.next_call()
        steer = await stage.api.send(session_id, "to the left", delivery="steer")
        path = f"/sessions/{session_id}/messages/{steer['message_id']}"
        gone = await stage.api.http.delete(path)
        call.say("result")
        events = await stage.api.until_idle(session_id)
        late = await stage.api.http.delete(path)

    assert (gone.status_code, late.status_code) == (204, 404)
    assert "message.delivered" not in types(events)
    assert "to the left" not in texts(model.requests[1])


@pytest.mark.requirement("LOOP-05")
async def test_a_model_that_calls_tools_for_ever_is_stopped_and_the_queue_goes_on() -> None:
    model = ScriptedModel(otherwise=calls(("nowhere", "{}"), usage=Usage(1, 1)))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create(max_steps=30)
        await stage.api.send(session_id, "hi")
        await stage.api.send(session_id, "and you?")
        events = await stage.api.until_idle(session_id)

    assert stop_reasons(events) == ["max_steps", "max_steps"]
    assert len(model.requests) == 60
    assert [each["usage"]["input_tokens"] for each in of_type(events, "turn.completed")] == [30, 30]
    assert not model.refused


@pytest.mark.requirement("LOOP-05")
async def test_of_two_budgets_the_one_that_is_used_up_first_counts() -> None:
    model = ScriptedModel(otherwise=text("ok", Usage(10, 5, cost_usd=0.4)))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create(budget={"tokens": 1_000, "cost_usd": 0.5})
        stops = [stop_reasons(await stage.api.turn(session_id, "hi")) for _ in range(3)]

    assert stops == [["end_turn"], ["end_turn"], ["budget"]]
