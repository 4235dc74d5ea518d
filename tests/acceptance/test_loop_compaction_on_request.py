"""`POST /sessions/{id}/compact`: the context becomes a summary when the user asks for it."""

import asyncio

import pytest

from brain_testing.desk import within
from brain_testing.model_stage import ModelStage, model_stage
from brain_testing.reading import of_type, said, types
from brain_testing.scripted_model import Gate, ScriptedModel, text, texts

pytestmark = pytest.mark.requirement("LOOP-04")


async def test_on_request_it_is_compacted_while_no_turn_runs() -> None:
    model = ScriptedModel(otherwise=text("NOTES"))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create()
        for letter in "abc":
            await stage.api.turn(session_id, letter * 4 * 9_000)
        answer = await stage.post(session_id, "compact")
        events = await stage.api.events(session_id)
        again = await stage.api.http.post(f"/sessions/{session_id}/compact")
        await stage.api.turn(session_id, "and now?")

    compacted = events[-1]
    assert (compacted["type"], compacted["turn_id"]) == ("context.compacted", None)
    assert answer == {key: compacted["data"][key] for key in ("tokens_before", "tokens_after")}
    assert answer["tokens_before"] > answer["tokens_after"]
    assert again.status_code == 409
    assert again.json()["type"] == "/problems/nothing-to-compact"
    assert "aaa" not in texts(model.requests[-1])
    assert "ccc" in texts(model.requests[-1])
    assert not model.refused


@pytest.mark.requirement("API-02")
async def test_while_a_turn_runs_and_after_the_end_it_is_refused() -> None:
    gate = Gate()
    model = ScriptedModel((gate, *text("one")))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create()
        await stage.api.send(session_id, "hi")
        await gate.reached()
        running = await stage.api.http.post(f"/sessions/{session_id}/compact")
        gate.open()
        await stage.api.until_idle(session_id)
        await stage.post(session_id, "close")
        closed = await stage.api.http.post(f"/sessions/{session_id}/compact")

    assert (running.status_code, running.json()["type"]) == (409, "/problems/turn-running")
    assert (closed.status_code, closed.json()["type"]) == (409, "/problems/session-closed")


@pytest.mark.requirement("MSG-02")
@pytest.mark.parametrize("delivery", ["queue", "steer", "interrupt"])
async def test_a_message_that_comes_during_a_compaction_on_request_has_its_turn(
    delivery: str,
) -> None:
    gate = Gate()
    model = ScriptedModel(*[text("ok")] * 3, (gate, *text("NOTES")))
    async with model_stage(model) as (stage, _):
        session_id = await long_session(stage)
        compacting = asyncio.create_task(stage.api.http.post(f"/sessions/{session_id}/compact"))
        await gate.reached()
        sent = await stage.api.send(session_id, "hello?", delivery=delivery)
        gate.open()
        answer = await within(compacting)
        events = await stage.api.until_idle(session_id)

    assert sent["queued"] is True
    assert answer.status_code == (409 if delivery == "interrupt" else 200)
    assert of_type(events, "turn.started")[-1]["message_ids"] == [sent["message_id"]]
    assert said(events) == "ok"
    assert not model.refused


@pytest.mark.requirement("MSG-02")
async def test_a_message_that_asks_for_reject_is_refused_during_a_compaction_on_request() -> None:
    gate = Gate()
    model = ScriptedModel(*[text("ok")] * 3, (gate, *text("NOTES")))
    async with model_stage(model) as (stage, _):
        session_id = await long_session(stage)
        compacting = asyncio.create_task(stage.api.http.post(f"/sessions/{session_id}/compact"))
        await gate.reached()
        rejected = await stage.api.http.post(
            f"/sessions/{session_id}/messages", json={"content": "hi", "delivery": "reject"}
        )
        twice = await stage.api.http.post(f"/sessions/{session_id}/compact")
        gate.open()
        answer = await within(compacting)

    assert (rejected.status_code, twice.status_code, answer.status_code) == (409, 409, 200)


async def long_session(stage: ModelStage) -> str:
    session_id = await stage.create()
    for letter in "abc":
        await stage.api.turn(session_id, letter * 4 * 9_000)
    return session_id


@pytest.mark.requirement("SES-04")
@pytest.mark.parametrize("how", ["interrupt", "close", "delete"])
async def test_a_compaction_on_request_ends_when_the_session_is_told_to(how: str) -> None:
    gate = Gate()
    model = ScriptedModel(*[text("ok")] * 3, (gate, *text("NOTES")))
    async with model_stage(model) as (stage, _):
        session_id = await long_session(stage)
        compacting = asyncio.create_task(stage.api.http.post(f"/sessions/{session_id}/compact"))
        await gate.reached()
        if how == "delete":
            await stage.api.http.delete(f"/sessions/{session_id}")
        else:
            await stage.post(session_id, how)
        answer = await within(compacting)

    assert gate.left.is_set()
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/compaction-failed")


@pytest.mark.requirement("REC-02")
async def test_a_compaction_that_the_engine_did_not_survive_loses_no_message() -> None:
    gate = Gate()
    model = ScriptedModel(*[text("ok")] * 3, (gate, *text("NOTES")))
    async with model_stage(model) as (stage, _):
        session_id = await long_session(stage)
        compacting = asyncio.create_task(stage.api.http.post(f"/sessions/{session_id}/compact"))
        await gate.reached()
        await stage.api.send(session_id, "hello?")
        await stage.restart()
        answer = await within(compacting)
        events = await stage.api.until_idle(session_id)

    assert answer.status_code >= 500
    assert "context.compacted" not in types(events)
    assert len(of_type(events, "turn.completed")) == 4
