"""Children's log lines, as the supervisor prints them."""

import json

import pytest

from brain.cli.output import Output, readable

STAMP = "2026-12-01T10:52:04.388Z"


def log(**entry: object) -> str:
    return json.dumps({"timestamp": STAMP, "level": "info", **entry})


def test_a_json_line_is_time_level_event_and_the_rest() -> None:
    line = log(event="tool_call", call_id="call_1", ms=5, ok=True)

    assert readable(line) == "10:52:04 info tool_call call_id=call_1 ms=5 ok=true"


@pytest.mark.parametrize("line", ["", "plain words", "{not json", "[1]", '"text"', '{"a": 1}', "7"])
def test_any_other_line_stays_as_it_is(line: str) -> None:
    assert readable(line) == line


def test_a_value_can_not_pass_for_another_value() -> None:
    assert readable(log(event="e", reason="a b=c")) == '10:52:04 info e reason="a b=c"'


def test_a_value_can_not_pass_for_another_line() -> None:
    line = log(event="e\nf", reason="a\n10:52:05 info forged")

    assert readable(line) == '10:52:04 info e f reason="a\\n10:52:05 info forged"'


def test_an_exception_stands_behind_its_event() -> None:
    line = log(event="crash", exception="Traceback\n  File x\nKeyError: 1\n")

    assert readable(line).split("\n") == [
        "10:52:04 info crash",
        "Traceback",
        "  File x",
        "KeyError: 1",
    ]


@pytest.mark.parametrize(
    "line", ["\x1b[2J", log(event="\x1b[2J"), log(event="e", exception="\x1b")]
)
def test_an_escape_sequence_is_shown_and_not_sent(line: str) -> None:
    assert "\x1b" not in readable(line)
    assert "␛" in readable(line)


def test_every_line_stands_behind_its_process(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output(["engine", "edge"])
    output.line("edge", log(event="crash", exception="Traceback\nKeyError: 1"))
    output.line("engine", "words")

    assert capsys.readouterr().out.splitlines() == [
        "edge   | 10:52:04 info crash",
        "edge   | Traceback",
        "edge   | KeyError: 1",
        "engine | words",
    ]
