"""Steps and budgets are checked before each model call, and the stop reason says which it was."""

import pytest

from brain_core.usage import Usage
from brain_testing.model_stage import model_stage
from brain_testing.reading import of_type, only, said, types
from brain_testing.scripted_model import Known, ScriptedModel, calls, fails, text

pytestmark = pytest.mark.requirement("LOOP-05")


async def test_a_turn_ends_before_the_step_that_would_be_one_too_many() -> None:
    model = ScriptedModel(otherwise=calls(("ask", "{}")))
    async with model_stage(model) as (stage, desk):
        session_id = await stage.create("ask", max_steps=2)
        await stage.api.send(session_id, "hi")
        for _ in range(2):
            (await desk.next_call()).say("go on")
        events = await stage.api.until_idle(session_id)

    completed = only(events, "turn.completed")
    assert completed["stop_reason"] == "max_steps"
    assert completed["usage"]["input_tokens"] == 20
    assert len(model.requests) == 2


async def test_steps_are_counted_by_turn_and_failed_attempts_are_not_counted() -> None:
    failure = fails("overloaded", transient=True, usage=Usage(1, 1))
    model = ScriptedModel(failure, failure, text("one"), text("two"))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create(max_steps=1)
        await stage.api.send(session_id, "hi")
        for _ in range(2):
            await stage.clock.asleep(1)
            await stage.clock.advance(8)
        first = await stage.api.until_idle(session_id)
        second = await stage.api.turn(session_id, "again")

    assert said(first) == "one"
    assert said(second) == "two"


@pytest.mark.parametrize(
    ("budget", "known"),
    [({"tokens": 30}, Known()), ({"cost_usd": 0.3}, Known(price=0.01))],
    ids=["tokens", "money"],
)
async def test_a_budget_ends_the_turn_before_the_call_that_follows_its_end(
    budget: dict[str, float], known: Known
) -> None:
    model = ScriptedModel(otherwise=calls(("ask", "{}")))
    async with model_stage(model, known=known) as (stage, desk):
        session_id = await stage.create("ask", budget=budget)
        await stage.api.send(session_id, "hi")
        for _ in range(2):
            (await desk.next_call()).say("go on")
        stopped = await stage.api.until_idle(session_id)
        at_once = await stage.api.turn(session_id, "and now?")

    assert only(stopped, "turn.completed")["stop_reason"] == "budget"
    assert types(at_once) == ["message.user", "turn.started", "turn.completed"]
    assert at_once[-1]["data"]["stop_reason"] == "budget"
    assert len(model.requests) == 2


async def test_a_retry_is_a_call_that_the_budget_must_allow_too() -> None:
    model = ScriptedModel(fails("overloaded", transient=True, usage=Usage(50, 0)))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create(budget={"tokens": 50})
        await stage.api.send(session_id, "hi")
        await stage.clock.asleep(1)
        await stage.clock.advance(2)
        events = await stage.api.until_idle(session_id)

    assert only(events, "turn.completed")["stop_reason"] == "budget"
    assert len(model.requests) == 1


@pytest.mark.requirement("MODEL-04")
async def test_a_cost_that_the_provider_did_not_say_comes_from_the_price_table() -> None:
    said_itself = text("dear", Usage(10, 5, cost_usd=3.0))
    model = ScriptedModel(text("cheap"), said_itself)
    async with model_stage(model, known=Known(price=0.5)) as (stage, _):
        session_id = await stage.create()
        await stage.api.turn(session_id, "hi")
        await stage.api.turn(session_id, "hi")
        events = await stage.api.events(session_id)
        session = await stage.api.session(session_id)

    costs = [each["usage"]["cost_usd"] for each in of_type(events, "message.assistant")]
    assert costs == [7.5, 3.0]
    assert session["usage"]["cost_usd"] == 10.5


@pytest.mark.requirement("MODEL-04")
async def test_what_is_unknown_is_null_and_counts_towards_no_budget() -> None:
    model = ScriptedModel(otherwise=text("ok", Usage()))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create(budget={"tokens": 1, "cost_usd": 0.01})
        await stage.api.turn(session_id, "hi")
        events = await stage.api.turn(session_id, "hi")
        session = await stage.api.session(session_id)

    assert said(events) == "ok"
    assert set(session["usage"].values()) == {None}
    assert set(only(events, "turn.completed")["usage"].values()) == {None}
