"""The outcome table and its documentation say the same."""

import re
from pathlib import Path

import pytest

from brain.engine.tool import outcome
from brain.engine.tool.outcome import SENTENCES, Code, Failure, result_of
from brain_core.content import TextBlock, ToolResult

DOCUMENT = Path(__file__).parents[3] / "docs/reference/outcomes.md"
ROWS = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", DOCUMENT.read_text(), re.MULTILINE))


def said(result: ToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextBlock)
    return block.text


@pytest.mark.requirement("OUT-08")
def test_each_code_is_documented_with_its_sentence() -> None:
    assert {code.value: SENTENCES[code] for code in Code} == ROWS


@pytest.mark.requirement("OUT-08")
@pytest.mark.parametrize("code", Code)
@pytest.mark.parametrize("sent", [True, False])
def test_a_sentence_says_what_happened_and_whether_it_may_have(code: Code, sent: bool) -> None:
    result = result_of(Failure(code, "A detail."), sent=sent)
    assert result.is_error
    assert result.code == code.value
    ending = outcome.MAY_HAVE_HAPPENED if result.unknown_outcome else outcome.NOTHING_HAPPENED
    assert said(result) == f"{SENTENCES[code]} A detail. {ending}"


@pytest.mark.requirement("OUT-02", "OUT-03", "OUT-04", "OUT-05")
@pytest.mark.parametrize("code", Code)
def test_only_what_was_never_sent_has_a_known_outcome(code: Code) -> None:
    refused = code.value.startswith("refused_") or code in (
        Code.ANSWER_CUT_OFF,
        Code.MCP_NO_SESSION,
        Code.MCP_REFUSED,
    )
    assert result_of(Failure(code), sent=True).unknown_outcome is not refused
    assert result_of(Failure(code), sent=False).unknown_outcome is False


@pytest.mark.requirement("OUT-06")
def test_an_interrupt_is_known_or_unknown_by_what_was_sent() -> None:
    assert outcome.interrupted(sent=True).unknown_outcome
    assert not outcome.interrupted(sent=False).unknown_outcome


@pytest.mark.requirement("OUT-07")
def test_a_call_that_the_engine_did_not_survive_may_have_happened() -> None:
    result = outcome.engine_died()
    assert (result.code, result.unknown_outcome) == ("engine_died", True)


@pytest.mark.requirement("TOOL-10")
def test_a_call_of_an_answer_that_was_cut_off_did_not_happen() -> None:
    result = outcome.answer_cut_off()
    assert (result.code, result.unknown_outcome) == ("answer_cut_off", False)
    assert "length limit" in said(result)
