"""How many tokens a context has: as the model counted, and an estimate of the rest."""

import pytest
from msgspec import Raw

from brain.engine.harness.pi.context import Context
from brain.engine.harness.pi.tokens import overhead
from brain_core.content import ImageBlock, TextBlock, ToolCallBlock, UserBlock
from brain_core.events import (
    AssistantMessage,
    ContextCompacted,
    Event,
    EventData,
    StopReason,
    ToolResulted,
    TurnStarted,
    UserMessage,
)
from brain_core.session import SessionConfig, ToolSpec
from brain_core.usage import Usage

pytestmark = pytest.mark.requirement("LOOP-04")

CALL = ToolCallBlock("call_1", "ask", Raw(b"{}"))
UNKNOWN = Usage()


def folded(*data: EventData) -> Context:
    context = Context()
    for seq, each in enumerate(data, start=1):
        context.apply(Event(seq, each.type, "ses_1", "turn_1", "2026-12-01T00:00:00.000Z", each))
    return context


def asked(*content: UserBlock) -> tuple[EventData, EventData]:
    return UserMessage("msg_1", content, "queue"), TurnStarted(("msg_1",))


def answered(usage: Usage, stop_reason: StopReason = "tool_calls") -> AssistantMessage:
    return AssistantMessage("msg_2", (CALL,), "test/any", stop_reason, usage)


def resulted(text: str) -> ToolResulted:
    return ToolResulted("call_1", "ask", (TextBlock(text),), False, False)


def test_before_any_answer_all_is_estimated_with_what_goes_with_every_request() -> None:
    assert folded(*asked(TextBlock("x" * 399))).tokens(overhead=50) == 150


def test_an_answer_s_count_stands_for_all_before_it_and_its_results_are_estimated() -> None:
    usage = Usage(1000, 20, cache_read_tokens=300, cache_write_tokens=4)
    context = folded(*asked(TextBlock("x" * 399)), answered(usage), resulted("y" * 40))

    assert context.tokens(overhead=50) == 1324 + 10


@pytest.mark.parametrize("usage", [UNKNOWN, Usage(output_tokens=5), Usage(0, 0)])
def test_an_answer_that_tells_no_count_is_estimated(usage: Usage) -> None:
    context = folded(*asked(TextBlock("x" * 400)), answered(usage), resulted("y" * 40))

    assert context.tokens(overhead=50) == 50 + 100 + 2 + 10


def test_the_count_of_a_failed_attempt_says_nothing_of_the_context() -> None:
    failed = AssistantMessage("msg_2", (TextBlock("h"),), "test/any", "error", Usage(9, 9))

    assert folded(*asked(TextBlock("x" * 400)), failed).tokens(overhead=0) == 100


def test_a_compaction_s_count_stands_until_the_next_answer() -> None:
    before = (*asked(TextBlock("x" * 400)), answered(Usage(1000, 20)), resulted("y" * 40))
    compacted = ContextCompacted("notes", 3, 1030, 77)

    assert folded(*before, compacted).tokens(overhead=50) == 77
    more = (UserMessage("msg_3", (TextBlock("z" * 8),), "queue"), TurnStarted(("msg_3",)))
    assert folded(*before, compacted, *more).tokens(overhead=50) == 79


def test_an_image_counts_as_some_1200_tokens_however_large_it_is() -> None:
    image = ImageBlock("QUJD" * 100_000, "image/png")

    assert folded(*asked(image)).tokens(overhead=0) == 1200


def test_the_overhead_is_the_system_prompt_and_the_tools() -> None:
    tool = ToolSpec("ask", "Asks.", Raw(b'{"type":"object"}'))

    assert overhead(SessionConfig("test/any", system_prompt="Be brief."), [tool]) == 9
