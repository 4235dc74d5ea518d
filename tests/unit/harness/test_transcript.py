"""What is given to be summarised: all that was said, without what would only fill it."""

import pytest
from msgspec import Raw

from brain.engine.harness.pi.transcript import shortened, transcript
from brain.engine.model.protocol import AssistantTurn, ToolTurn, UserTurn
from brain_core.content import ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock

pytestmark = pytest.mark.requirement("LOOP-04")

TURNS = (
    UserTurn((TextBlock("Look at this"), ImageBlock("QUJD" * 9000, "image/png"))),
    AssistantTurn(
        (
            ThinkingBlock("secret"),
            TextBlock("I'll ask."),
            ToolCallBlock("c", "ask", Raw(b'{"a":1}')),
        ),
        "test/any",
    ),
    ToolTurn("c", "ask", (TextBlock("begin " + "x" * 20_000 + " end"),), is_error=False),
    ToolTurn("d", "ask", (TextBlock("no"),), is_error=True),
)


def test_it_tells_who_said_what_and_which_tool_was_called_with_what() -> None:
    told = transcript(TURNS, 100_000)

    assert "[User] Look at this" in told
    assert '[Assistant] I\'ll ask.\n(calls ask with {"a":1})' in told
    assert "[Error of ask] no" in told
    assert "secret" not in told


def test_images_and_large_results_are_shortened() -> None:
    told = transcript(TURNS, 100_000)

    assert "QUJD" not in told
    assert "(an image of type image/png)" in told
    assert "[Result of ask] begin xxx" in told
    assert "xxx end" in told
    assert len(told) < 3_000


def test_a_whole_record_that_is_too_long_loses_its_middle_and_says_so() -> None:
    told = transcript([UserTurn((TextBlock("a" * 500 + "b" * 500),))] * 10, 600)

    assert len(told) < 700
    assert "characters left out" in told


def test_what_is_short_stays_as_it_is() -> None:
    assert shortened("abc", 3) == "abc"
    assert shortened("abcd", 3).startswith("a\n[… 1 ")
