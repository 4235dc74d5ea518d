"""A bug in a model's adapter ends the turn with a code; the session and what was said stay."""

import pytest

from brain.engine.model.protocol import Delta, ModelRequest
from brain_core.usage import Usage
from brain_testing.model_stage import model_stage
from brain_testing.reading import only, said, text_of, types
from brain_testing.scripted_model import Known, Reply, ScriptedModel, fails, text

pytestmark = pytest.mark.requirement("LOOP-03")

BUG = IndexError("tuple index out of range")


def bug(request: ModelRequest) -> Reply:
    raise BUG


@pytest.mark.requirement("MODEL-04")
async def test_an_exception_in_an_answer_ends_the_turn_and_keeps_what_was_said_and_used() -> None:
    model = ScriptedModel((Delta("text", "half", usage=Usage(7, 3)), BUG), text("yes"))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create()
        events = await stage.api.turn(session_id, "hi")
        works = await stage.api.turn(session_id, "again")
        session = await stage.api.session(session_id)

    broken_off = only(events, "message.assistant")
    failed = only(events, "turn.failed")
    assert (text_of(broken_off), broken_off["stop_reason"]) == ("half", "error")
    assert failed["error"]["code"] == "internal_error"
    assert "tuple" not in failed["error"]["message"]
    assert failed["usage"]["input_tokens"] == 7
    assert session["usage"]["input_tokens"] == 17
    assert said(works) == "yes"
    assert not model.refused


@pytest.mark.parametrize("overflows", [True, False], ids=["overflow", "nearly full"])
@pytest.mark.requirement("LOOP-04")
async def test_an_exception_in_a_compaction_ends_the_turn_and_the_next_one_works(
    overflows: bool,
) -> None:
    first = (fails("context_overflow"),) if overflows else ()
    full = Usage(24_000, 0)
    replies = (text("1" * 40_000), text("two", full), *first, bug)
    model = ScriptedModel(*replies, otherwise=text("yes"))
    known = Known(tokens=None if overflows else 40_000)
    async with model_stage(model, known=known) as (stage, _):
        session_id = await stage.create()
        await stage.api.turn(session_id, "hi")
        await stage.api.turn(session_id, "r" * 8_000)
        events = await stage.api.turn(session_id, "and now?")
        works = await stage.api.turn(session_id, "again")

    assert types(events)[-2:] == ["context.compaction_failed", "turn.failed"]
    assert only(events, "turn.failed")["error"]["code"] == "internal_error"
    assert said(works) == "yes"
    assert not model.refused


@pytest.mark.requirement("LOOP-04")
async def test_an_exception_in_a_compaction_on_request_is_its_answer() -> None:
    model = ScriptedModel(*[text("ok")] * 3, bug, text("yes"))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create()
        for letter in "abc":
            await stage.api.turn(session_id, letter * 4 * 9_000)
        answer = await stage.api.http.post(f"/sessions/{session_id}/compact")
        works = await stage.api.turn(session_id, "again")

    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/compaction-failed")
    assert "tuple" not in answer.text
    assert said(works) == "yes"


@pytest.mark.requirement("LOOP-04")
async def test_a_model_of_which_no_window_is_known_is_told_all_until_its_provider_refuses() -> None:
    model = ScriptedModel()
    async with model_stage(model) as (stage, _):
        session_id = await stage.create()
        for _ in range(2):
            await stage.api.turn(session_id, "x" * 1_000_000)
        events = await stage.api.turn(session_id, "and now?")

    assert "context.compacted" not in types(events)
    assert [len(request.turns) for request in model.requests] == [1, 3, 5]
