"""What goes wrong at the provider, on a real wire format, and how the session goes on."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from brain_testing.model_server import Call, Cut, Say, Status, StreamError, Think, Used
from brain_testing.model_server.stage import Play
from brain_testing.reading import of_type, only, said, types

pytestmark = pytest.mark.requirement("LOOP-03")


@pytest.mark.parametrize(
    ("breaks", "code"),
    [
        (StreamError(500, "Oops."), "provider_error"),
        (StreamError(503, "Overloaded"), "overloaded"),
        (StreamError(429, "Slow down."), "rate_limited"),
        (Cut(), "connection_lost"),
    ],
    ids=["500", "503", "429", "cut"],
)
async def test_a_stream_that_breaks_is_tried_again_and_its_half_is_not_told(
    breaks: StreamError | Cut, code: str, play: Play
) -> None:
    begun = (Think("Hm."), Say("half a sen"), Call("ask", '{"n":'), breaks)
    stage = await play(begun, (Say("whole"),))
    session_id = await stage.create("ask")
    events = await stage.send_and_retry(session_id, "Hi", 2)

    retry = only(events, "model.retry")
    assert (retry["delay_seconds"], retry["error"]["code"]) == (2, code)
    assert said(events) == "whole"
    assert "tool.call" not in types(events)
    assert stage.server.requests[1].body == stage.server.requests[0].body


@pytest.mark.parametrize("status", [429, 500, 503, 529])
async def test_the_provider_says_in_seconds_when_to_ask_again(status: int, play: Play) -> None:
    stage = await play((Status(status, headers={"retry-after": "7"}),), (Say("Now."),))
    session_id = await stage.create()
    events = await stage.send_and_retry(session_id, "Hi", 7)

    assert only(events, "model.retry")["delay_seconds"] == 7
    assert said(events) == "Now."


async def test_the_provider_says_as_a_date_when_to_ask_again(play: Play) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    when = {
        "date": format_datetime(now, usegmt=True),
        "retry-after": format_datetime(now + timedelta(seconds=9), usegmt=True),
    }
    stage = await play((Status(429, headers=when),), (Say("Now."),))
    session_id = await stage.create()
    events = await stage.send_and_retry(session_id, "Hi", 60)

    assert only(events, "model.retry")["delay_seconds"] == pytest.approx(9, abs=1)
    assert said(events) == "Now."


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, "bad_request"), (401, "auth_failed"), (403, "auth_failed"), (404, "model_not_found")],
)
async def test_what_will_not_pass_fails_the_turn_and_the_next_message_works(
    status: int, code: str, play: Play
) -> None:
    stage = await play((Status(status, "This model is not for you."),), (Say("Here."),))
    session_id = await stage.create()
    failed = await stage.api.turn(session_id, "Hi")
    works = await stage.api.turn(session_id, "Again")

    error = only(failed, "turn.failed")["error"]
    assert error["code"] == code
    assert "This model is not for you." in error["message"]
    assert stage.server.url not in error["message"]
    assert "model.retry" not in types(failed)
    assert said(works) == "Here."
    assert stage.told() == ["user: Hi", "user: Again"] or stage.told() == ["user: Hi\n\nAgain"]


@pytest.mark.requirement("LOOP-04")
async def test_a_context_that_is_too_long_for_the_provider_is_compacted_and_asked_again(
    play: Play,
) -> None:
    too_long = Status(
        400, "prompt is too long: your input exceeds the context window of this model"
    )
    stage = await play((Say("a"),), (Say("b"),), (too_long,), (Say("## Goal\nTalk."),), (Say("c"),))
    session_id = await stage.create()
    await stage.api.turn(session_id, "one " * 12_000)
    await stage.api.turn(session_id, "two " * 12_000)
    events = await stage.api.turn(session_id, "three " * 12_000)

    assert only(events, "context.compacted")["summary"].startswith("## Goal\nTalk.")
    assert said(events) == "c"
    assert "## Goal\nTalk." in stage.told()[0]
    assert stage.told()[-1].startswith("user: ")


@pytest.mark.requirement("MODEL-04")
async def test_what_a_broken_stream_had_used_is_counted_as_far_as_it_is_known(
    play: Play, dialect: str
) -> None:
    stage = await play((Say("half"), Used(40, 9), Cut()), (Say("whole"), Used(40, 9)))
    session_id = await stage.create()
    events = await stage.send_and_retry(session_id, "Hi", 2)

    # Only Anthropic says at the start what was read; the others say nothing before the end.
    known = 2 if dialect == "anthropic-messages" else 1
    assert only(events, "turn.completed")["usage"]["input_tokens"] == 40 * known
    assert len(of_type(events, "model.retry")) == 1
