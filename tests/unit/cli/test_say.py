"""A turn's events, as `brain chat` tells them."""

import io
from typing import Any, cast

import pytest

from brain.cli.say import Teller
from brain_client.types import Event

Json = dict[str, Any]


def told(*events: tuple[str, Json], thinking: bool = False) -> str:
    out = io.StringIO()
    teller = Teller(out, thinking=thinking)
    for kind, data in events:
        teller.tell(cast("Event", {"type": kind, "data": data}))
    return out.getvalue()


def delta(text: str) -> tuple[str, Json]:
    return "message.delta", {"message_id": "m", "kind": "text", "text": text}


def assistant(text: str) -> tuple[str, Json]:
    content = [{"type": "text", "text": text}]
    return "message.assistant", {"message_id": "m", "content": content}


def result(**data: Any) -> tuple[str, Json]:
    content = [{"type": "text", "text": "words"}]
    fixed = {"name": "t", "content": content, "is_error": False, "unknown_outcome": False}
    return "tool.result", {**fixed, **data}


def test_streamed_text_is_said_once() -> None:
    assert told(delta("Hello "), delta("you"), assistant("Hello you")) == "Hello you\n"


def test_an_answer_is_said_whole_if_its_deltas_were_missed() -> None:
    assert told(assistant("Hello you")) == "Hello you\n"


def test_the_end_of_an_answer_is_said_if_its_last_deltas_were_missed() -> None:
    assert told(delta("Hello "), assistant("Hello you")) == "Hello you\n"


def test_an_answer_is_said_again_if_deltas_in_its_middle_were_missed() -> None:
    assert told(delta("Hel"), delta("you"), assistant("Hello you")) == "Helyou\nHello you\n"


def thought(text: str) -> tuple[str, Json]:
    return "message.delta", {"message_id": "m", "kind": "thinking", "text": text}


def test_what_the_model_thinks_is_not_said() -> None:
    assert told(thought("hmm"), assistant("Yes.")) == "Yes.\n"


def test_what_the_model_thinks_is_dim_and_on_lines_of_its_own() -> None:
    said = told(thought("a\x1b"), thought("b"), delta("Yes."), assistant("Yes."), thinking=True)

    assert said == "\x1b[2ma␛\x1b[0m\x1b[2mb\x1b[0m\nYes.\n"


def test_a_thought_after_words_begins_a_line() -> None:
    said = told(delta("Well,"), thought("a"), delta(" yes."), thinking=True)

    assert said == "Well,\n\x1b[2ma\x1b[0m\n yes."


def test_an_answer_that_was_cut_off_is_marked() -> None:
    kind, data = assistant("Half")

    assert told((kind, {**data, "stop_reason": "length"})) == (
        "Half\n(cut off: the answer is as long as it may be)\n"
    )


def test_a_call_its_progress_and_its_result_have_a_line_each() -> None:
    call = ("tool.call", {"name": "t", "arguments": {"a": 1}})
    progress = ("tool.progress", {"progress": {"step": 1}})

    assert told(delta("I will"), call, progress, result()) == (
        'I will\n→ t {"a": 1}\n  … {"step": 1}\n← t: words\n'
    )


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ({"is_error": True}, "✗ t: words\n"),
        ({"is_error": True, "unknown_outcome": True}, "✗ t (it may have happened): words\n"),
        ({"unknown_outcome": True}, "← t (it may have happened): words\n"),
        (
            {"content": [{"type": "image", "data": "", "mime_type": "image/png"}]},
            "← t: [image/png]\n",
        ),
    ],
)
def test_a_result_says_how_the_call_ended(data: Json, line: str) -> None:
    assert told(result(**data)) == line


def test_a_long_result_is_cut_off() -> None:
    content = [{"type": "text", "text": "x" * 100_000}]

    assert len(told(result(content=content))) < 3000


@pytest.mark.parametrize(
    "event",
    [
        delta("\x1b]0;title\x07"),
        assistant("\x9b2J\x1b"),
        ("tool.progress", {"progress": "\x9b2J"}),
        result(name="\x1b[2J"),
    ],
)
def test_no_control_character_reaches_the_terminal(event: tuple[str, Json]) -> None:
    assert all(char.isprintable() or char == "\n" for char in told(event))


@pytest.mark.parametrize(
    ("kind", "data", "line"),
    [
        ("turn.failed", {"error": {"code": "c", "message": "No."}}, "(the turn failed: No.)\n"),
        ("turn.interrupted", {"reason": "client"}, "(interrupted)\n"),
        ("turn.completed", {"stop_reason": "max_steps"}, "(stopped: max_steps)\n"),
        ("turn.completed", {"stop_reason": "end_turn"}, ""),
        (
            "model.retry",
            {"delay_seconds": 2.04, "error": {"code": "c", "message": "It is busy."}},
            "(It is busy. Trying again in 2 s.)\n",
        ),
        (
            "turn.failed",
            {"error": {"code": "connection_lost", "message": "It broke."}},
            "(the turn failed: It broke. Say it again.)\n",
        ),
        (
            "context.compacted",
            {"tokens_before": 31000, "tokens_after": 900},
            "(the model's context was summarised: 31,000 tokens are 900 now)\n",
        ),
        ("turn.recovered", {}, "(Brain was restarted; the turn goes on)\n"),
        ("session.closed", {}, "(the session is closed)\n"),
        ("of.a.later.version", {}, ""),
    ],
)
def test_the_end_of_a_turn_is_said_if_it_is_unusual(kind: str, data: Json, line: str) -> None:
    assert told((kind, data)) == line
