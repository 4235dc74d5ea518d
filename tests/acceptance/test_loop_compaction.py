"""When the context nears the window its old parts become a summary; the log loses nothing."""

import pytest

from brain.engine.model.protocol import ModelRequest
from brain_core.usage import Usage
from brain_testing.model_stage import ModelStage, model_stage
from brain_testing.reading import Json, only, said, types
from brain_testing.scripted_model import (
    Gate,
    Known,
    Reply,
    ScriptedModel,
    calls,
    fails,
    text,
    texts,
)

pytestmark = pytest.mark.requirement("LOOP-04")

WINDOW = Known(tokens=40_000, price=0.001)
"""Of which 23,616 tokens are for the context, and 11,808 of them are kept."""

ONE = text("1" * 4 * 1_000)
OLD, RECENT = "o" * 4 * 10_000, "r" * 4 * 9_000


def summarises(request: ModelRequest) -> bool:
    return "handover notes" in (request.system_prompt or "")


async def nearly_full(stage: ModelStage) -> str:
    """A session whose next request would need a compaction: 22,000 tokens and more."""
    session_id = await stage.create()
    await stage.api.turn(session_id, OLD)
    await stage.api.turn(session_id, RECENT)
    return session_id


def counted(tokens: int, words: str = "ok") -> Reply:
    return text(words, Usage(tokens, 0))


async def test_old_turns_are_summarised_and_recent_ones_stay() -> None:
    model = ScriptedModel(ONE, counted(24_000), text("NOTES", Usage(7, 3)), text("three"))
    async with model_stage(model, known=WINDOW) as (stage, _):
        session_id = await nearly_full(stage)
        before = await stage.api.events(session_id)
        events = await stage.api.turn(session_id, "and now?")
        after = await stage.api.events(session_id)

    compacted = only(events, "context.compacted")
    assert compacted["summary"] == "NOTES"
    assert compacted["tokens_before"] > 23_616 > compacted["tokens_after"]
    assert compacted["first_kept_seq"] == of_seq(before, "turn.started")[1]
    assert (compacted["usage"]["input_tokens"], compacted["usage"]["output_tokens"]) == (7, 3)
    assert compacted["usage"]["cost_usd"] == pytest.approx(0.01)
    summary, last = model.requests[2:]
    assert summarises(summary)
    assert "ooo" in texts(summary)
    assert "rrr" not in texts(summary)
    assert summary.tools == ()
    assert "NOTES" in texts(last)
    assert "rrr" in texts(last)
    assert "ooo" not in texts(last)
    assert said(events) == "three"
    assert after[: len(before)] == before
    assert not model.refused


def of_seq(events: list[Json], kind: str) -> list[int]:
    return [event["seq"] for event in events if event["type"] == kind]


@pytest.mark.parametrize("section", ["Goal", "Constraints", "Progress", "Decisions", "Next steps"])
async def test_a_summary_has_its_sections(section: str) -> None:
    model = ScriptedModel(ONE, counted(24_000), text("NOTES"))
    async with model_stage(model, known=WINDOW) as (stage, _):
        await stage.api.turn(await nearly_full(stage), "and now?")

    assert f"## {section}" in texts(model.requests[2])
    assert "## Critical context" in texts(model.requests[2])


async def test_a_later_compaction_updates_the_summary() -> None:
    long, full = text("1" * 4 * 10_000), counted(24_000, "2" * 4 * 9_000)
    model = ScriptedModel(long, full, text("FIRST"), counted(24_000), text("SECOND"), text("end"))
    async with model_stage(model, known=WINDOW) as (stage, _):
        session_id = await stage.create()
        for _ in range(3):
            await stage.api.turn(session_id, "hello")
        events = await stage.api.turn(session_id, "and now?")

    summaries = [place for place, each in enumerate(model.requests) if summarises(each)]
    assert summaries == [2, 4]
    assert "<notes>\\nFIRST\\n</notes>" in texts(model.requests[4])
    assert only(events, "context.compacted")["summary"] == "SECOND"
    assert "FIRST" not in texts(model.requests[5])


async def test_a_cut_inside_a_turn_makes_a_summary_of_its_first_part_too() -> None:
    model = ScriptedModel(
        text("one"),
        calls(("ask", "{}")),
        calls(("ask", "{}"), usage=Usage(23_000, 0)),
        text("HISTORY"),
        text("PREFIX"),
        text("done"),
    )
    async with model_stage(model, known=WINDOW) as (stage, desk):
        session_id = await stage.create("ask")
        await stage.api.turn(session_id, "the old days")
        await stage.api.send(session_id, "my request")
        (await desk.next_call()).say("a" * 4 * 6_000)
        (await desk.next_call()).say("b" * 4 * 6_000)
        events = await stage.api.until_idle(session_id)

    history, prefix, last = model.requests[3:]
    assert "the old days" in texts(history)
    assert "my request" not in texts(history)
    assert "my request" in texts(prefix)
    assert "bbb" not in texts(prefix)
    assert "x" * 3000 not in texts(prefix)
    summary = events[of_seq(events, "context.compacted")[0] - 1]["data"]["summary"]
    assert summary.index("HISTORY") < summary.index("PREFIX")
    assert "bbb" in texts(last)
    assert "aaa" not in texts(last)
    assert said(events) == "done"
    assert not model.refused


@pytest.mark.requirement("LOOP-02")
async def test_a_session_that_was_read_anew_has_the_context_of_one_that_was_not() -> None:
    model = ScriptedModel(ONE, counted(24_000), text("NOTES"), text("three"))
    async with model_stage(model, known=WINDOW) as (stage, _):
        session_id = await nearly_full(stage)
        await stage.api.turn(session_id, "and now?")
        await stage.restart()
        await stage.api.turn(session_id, "after the restart")

    before, after = model.requests[-2:]
    assert after.turns[: len(before.turns)] == before.turns
    assert len(after.turns) == len(before.turns) + 2


async def test_an_overflow_is_compacted_and_tried_again_once() -> None:
    overflow = fails("context_overflow", usage=Usage(5, 0))
    model = ScriptedModel(text("one"), text("two"), overflow, text("NOTES"), text("three"))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create()
        await stage.api.turn(session_id, OLD)
        await stage.api.turn(session_id, "recent")
        events = await stage.api.turn(session_id, "and now?")

    assert types(events)[2:] == [
        "message.assistant",
        "context.compacted",
        "message.assistant",
        "turn.completed",
    ]
    assert said(events) == "three"
    assert only(events, "turn.completed")["usage"]["input_tokens"] == 25
    assert not model.refused


async def test_a_second_overflow_ends_the_turn_and_the_session_stays_usable() -> None:
    overflow = fails("context_overflow")
    model = ScriptedModel(text("one"), text("two"), overflow, text("NOTES"), overflow, text("yes"))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create()
        await stage.api.turn(session_id, OLD)
        await stage.api.turn(session_id, "recent")
        events = await stage.api.turn(session_id, "and now?")
        works = await stage.api.turn(session_id, "again")

    assert only(events, "turn.failed")["error"]["code"] == "context_overflow"
    assert said(works) == "yes"


async def test_a_summary_that_is_no_shorter_ends_the_turn_instead_of_a_loop() -> None:
    overflow = fails("context_overflow")
    model = ScriptedModel(text("one"), overflow, text("n" * 9_000))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create()
        await stage.api.turn(session_id, "x" * 4_000)
        events = await stage.api.turn(session_id, "and now?")

    assert only(events, "context.compaction_failed")["error"]["code"] == "context_overflow"
    assert only(events, "turn.failed")["error"]["code"] == "context_overflow"
    assert len(model.requests) == 3


async def test_a_message_that_is_too_long_by_itself_is_not_summarised_away() -> None:
    model = ScriptedModel(fails("context_overflow"))
    async with model_stage(model) as (stage, _):
        session_id = await stage.create()
        events = await stage.api.turn(session_id, "x" * 4_000)

    assert only(events, "turn.failed")["error"]["code"] == "context_overflow"
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (fails("auth_failed", usage=Usage(7, 3)), "auth_failed"),
        (calls(("ask", "{}"), usage=Usage(7, 3)), "bad_summary"),
        (calls(cut_off=True, usage=Usage(7, 3)), "bad_summary"),
        (text("", Usage(7, 3)), "bad_summary"),
    ],
    ids=["failure", "call", "length", "nothing"],
)
@pytest.mark.requirement("MODEL-04")
async def test_a_summary_that_is_not_whole_is_refused(reply: Reply, code: str) -> None:
    model = ScriptedModel(ONE, counted(24_000), reply)
    async with model_stage(model, known=WINDOW) as (stage, _):
        session_id = await nearly_full(stage)
        events = await stage.api.turn(session_id, "and now?")
        session = await stage.api.session(session_id)

    failed = only(events, "context.compaction_failed")
    assert failed["error"]["code"] == code
    assert failed["usage"]["input_tokens"] == 7
    assert only(events, "turn.failed")["error"]["code"] == code
    assert only(events, "turn.failed")["usage"]["output_tokens"] == 3
    assert session["usage"]["input_tokens"] == 10 + 24_000 + 7
    assert len(model.requests) == 3


@pytest.mark.requirement("LOOP-03", "MODEL-04")
async def test_a_summary_that_fails_in_passing_is_tried_again() -> None:
    failure = fails("overloaded", transient=True, usage=Usage(1, 1))
    model = ScriptedModel(ONE, counted(24_000), failure, text("NOTES"), text("three"))
    async with model_stage(model, known=WINDOW) as (stage, _):
        session_id = await nearly_full(stage)
        await stage.api.send(session_id, "and now?")
        await stage.clock.asleep(1)
        await stage.clock.advance(2)
        events = await stage.api.until_idle(session_id)

    assert only(events, "model.retry")["delay_seconds"] == 2
    compacted = events[of_seq(events, "context.compacted")[0] - 1]["data"]
    assert compacted["usage"]["input_tokens"] == 11
    assert said(events) == "three"


@pytest.mark.requirement("LOOP-02", "LOOP-05")
async def test_a_compaction_can_be_interrupted_and_the_next_turn_begins_it_anew() -> None:
    gate = Gate()
    model = ScriptedModel(ONE, counted(24_000), (gate,), text("NOTES"), text("three"))
    async with model_stage(model, known=WINDOW) as (stage, _):
        session_id = await nearly_full(stage)
        await stage.api.send(session_id, "and now?")
        await gate.reached()
        answer = await stage.post(session_id, "interrupt")
        interrupted = await stage.api.events(session_id)
        works = await stage.api.turn(session_id, "again")

    assert answer["interrupted"] is True
    assert types(interrupted)[-2:] == ["context.compaction_failed", "turn.interrupted"]
    assert "context.compacted" in types(works)
    assert said(works) == "three"
    assert not model.refused


@pytest.mark.requirement("LOOP-05")
async def test_each_summary_is_a_call_that_the_budget_must_allow() -> None:
    large = calls(("ask", "{}"), usage=Usage(23_000, 0))
    model = ScriptedModel(text("one"), calls(("ask", "{}")), large, text("HISTORY"))
    async with model_stage(model, known=WINDOW) as (stage, desk):
        session_id = await stage.create("ask", budget={"tokens": 23_040})
        await stage.api.turn(session_id, "the old days")
        await stage.api.send(session_id, "my request")
        (await desk.next_call()).say("a" * 4 * 6_000)
        (await desk.next_call()).say("b" * 4 * 6_000)
        events = await stage.api.until_idle(session_id)

    completed = events[-1]["data"]
    assert completed["stop_reason"] == "budget"
    assert completed["usage"]["input_tokens"] == 23_020
    assert len(model.requests) == 4
