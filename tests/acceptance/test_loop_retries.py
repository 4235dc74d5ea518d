"""A model call that fails in passing is tried again; one that fails for good ends the turn."""

import pytest

from brain.engine.model.protocol import Delta, Failure
from brain_core.usage import Usage
from brain_testing.model_stage import model_stage
from brain_testing.reading import of_type, only, said, text_of, types
from brain_testing.scripted_model import ScriptedModel, calls, fails, text, texts

pytestmark = pytest.mark.requirement("LOOP-03")


async def test_it_is_tried_again_after_2_4_and_8_seconds() -> None:
    model = ScriptedModel(*[fails("overloaded", transient=True)] * 3, text("at last"))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create()
        await stage.api.send(session_id, "hi")
        for times, delay in enumerate((2, 4, 8), start=1):
            await stage.clock.asleep(1)
            assert len(model.requests) == times
            await stage.clock.advance(delay)
        events = await stage.api.until_idle(session_id)

    retries = of_type(events, "model.retry")
    error = {"code": "overloaded", "message": "It failed: overloaded."}
    assert [(each["attempt"], each["delay_seconds"]) for each in retries] == [
        (1, 2),
        (2, 4),
        (3, 8),
    ]
    assert [each["error"] for each in retries] == [error] * 3
    assert said(events) == "at last"
    assert model.requests == [model.requests[0]] * 4


@pytest.mark.parametrize(("asked", "waited"), [(1.5, 1.5), (0.0, 0.0), (30.0, 30.0), (900.0, 60.0)])
async def test_the_provider_says_when_but_for_a_minute_at_most(asked: float, waited: float) -> None:
    model = ScriptedModel(fails("rate_limited", transient=True, after=asked), text("yes"))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create()
        await stage.api.send(session_id, "hi")
        await stage.clock.asleep(1)
        await stage.clock.advance(waited)
        events = await stage.api.until_idle(session_id)

    assert only(events, "model.retry")["delay_seconds"] == waited
    assert said(events) == "yes"


async def test_after_the_third_retry_the_turn_fails_and_the_next_message_works() -> None:
    model = ScriptedModel(*[fails("overloaded", transient=True)] * 4, text("here"))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create()
        await stage.api.send(session_id, "hi")
        for _ in range(3):
            await stage.clock.asleep(1)
            await stage.clock.advance(8)
        failed = await stage.api.until_idle(session_id)
        works = await stage.api.turn(session_id, "again")

    assert only(failed, "turn.failed")["error"]["code"] == "overloaded"
    assert len(of_type(failed, "model.retry")) == 3
    assert said(works) == "here"
    assert "hi" in texts(model.requests[-1])


@pytest.mark.parametrize("code", ["quota_exceeded", "auth_failed", "bad_request"])
async def test_what_will_not_pass_is_not_tried_again(code: str) -> None:
    model = ScriptedModel(fails(code), text("here"))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create()
        failed = await stage.api.turn(session_id, "hi")
        works = await stage.api.turn(session_id, "again")

    assert types(failed)[-1] == "turn.failed"
    assert failed[-1]["data"]["error"]["code"] == code
    assert "model.retry" not in types(failed)
    assert said(works) == "here"


@pytest.mark.requirement("LOOP-02", "MODEL-04")
async def test_a_failed_attempt_is_kept_and_counted_but_not_said_to_the_model_again() -> None:
    lost = Failure("connection_lost", "Gone.", True, Usage(7, 3))
    model = ScriptedModel((Delta("text", "half a sen"), lost), text("whole", Usage(1, 1)))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create()
        await stage.api.send(session_id, "hi")
        await stage.clock.asleep(1)
        await stage.clock.advance(2)
        events = await stage.api.until_idle(session_id)
        session = await stage.api.session(session_id)

    first, second = of_type(events, "message.assistant")
    assert (first["stop_reason"], text_of(first)) == ("error", "half a sen")
    assert (first["usage"]["input_tokens"], first["usage"]["output_tokens"]) == (7, 3)
    assert text_of(second) == "whole"
    assert "half" not in texts(model.requests[1])
    for usage in (only(events, "turn.completed")["usage"], session["usage"]):
        assert (usage["input_tokens"], usage["output_tokens"]) == (8, 4)
    assert not model.refused


async def test_each_step_has_its_own_retries() -> None:
    failure = fails("overloaded", transient=True)
    model = ScriptedModel(failure, failure, calls(("ask", "{}")), failure, failure, text("done"))
    async with model_stage(model) as (stage, desk):
        session_id = await stage.create("ask")
        await stage.api.send(session_id, "hi")
        for requests in (1, 2, 4, 5):
            if requests == 4:
                (await desk.next_call()).say("result")
            await model.asked(requests)
            await stage.clock.asleep(1)
            await stage.clock.advance(8)
        events = await stage.api.until_idle(session_id)

    assert [each["attempt"] for each in of_type(events, "model.retry")] == [1, 2, 1, 2]
    assert said(events) == "done"


@pytest.mark.requirement("LOOP-02", "OUT-11")
async def test_an_interrupt_ends_the_wait_at_once() -> None:
    model = ScriptedModel(fails("overloaded", transient=True))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create()
        await stage.api.send(session_id, "hi")
        await stage.clock.asleep(1)
        answer = await stage.post(session_id, "interrupt")
        events = await stage.api.events(session_id)
        works = await stage.api.turn(session_id, "again")

    assert answer["interrupted"] is True
    assert types(events)[-2:] == ["model.retry", "turn.interrupted"]
    assert len(model.requests) == 2
    assert said(works) == "ok"


@pytest.mark.requirement("REC-02")
async def test_a_turn_whose_wait_the_engine_did_not_survive_just_goes_on() -> None:
    model = ScriptedModel(fails("overloaded", transient=True), text("after all"))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create()
        await stage.api.send(session_id, "hi")
        await stage.clock.asleep(1)
        await stage.restart()
        events = await stage.api.until_idle(session_id)

    assert types(events)[-3:] == ["turn.recovered", "message.assistant", "turn.completed"]
    assert said(events) == "after all"


@pytest.mark.requirement("MSG-02")
async def test_a_message_that_steers_during_the_wait_is_part_of_the_next_attempt() -> None:
    model = ScriptedModel(fails("overloaded", transient=True), text("yes"))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create()
        await stage.api.send(session_id, "hi")
        await stage.clock.asleep(1)
        steer = await stage.api.send(session_id, "to the left", delivery="steer")
        await stage.clock.advance(2)
        events = await stage.api.until_idle(session_id)

    assert only(events, "message.delivered")["message_ids"] == [steer["message_id"]]
    assert "to the left" in texts(model.requests[1])
    assert types(events).count("turn.started") == 1
