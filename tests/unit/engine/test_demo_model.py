"""`demo/script`: the user's text is the script."""

import pytest

from brain.engine.model.demo import DemoModel
from brain.engine.model.protocol import (
    Answer,
    AssistantTurn,
    Delta,
    Failure,
    ModelRequest,
    RequestedCall,
    ToolTurn,
    Turn,
    UserTurn,
)
from brain.engine.model.registry import ModelRegistry
from brain_core.content import ImageBlock, TextBlock

pytestmark = pytest.mark.requirement("MODEL-03")


def user(text: str) -> UserTurn:
    return UserTurn((TextBlock(text),))


def result(text: str, *, is_error: bool = False) -> ToolTurn:
    return ToolTurn("call_1", "echo", (TextBlock(text),), is_error)


async def answer_to(*turns: Turn) -> tuple[list[Delta], Answer]:
    items: list[Delta | Answer | Failure] = [
        item async for item in DemoModel().stream(ModelRequest("script", turns))
    ]
    end = items.pop()
    assert isinstance(end, Answer)
    return [item for item in items if isinstance(item, Delta)], end


def text_of(answer: Answer) -> str:
    return "".join(block.text for block in answer.blocks if isinstance(block, TextBlock))


def calls_of(answer: Answer) -> tuple[RequestedCall, ...]:
    return tuple(block for block in answer.blocks if isinstance(block, RequestedCall))


@pytest.mark.parametrize("text", ["hello", "two words", "", " leading", "a\n\nb  c ", "é ü\t🙂"])
async def test_text_without_a_call_is_said_back_word_by_word(text: str) -> None:
    deltas, answer = await answer_to(user(text))

    assert text_of(answer) == f"You said: {text}"
    assert answer.stop_reason == "end_turn"
    assert "".join(delta.text for delta in deltas) == text_of(answer)
    assert all(len(delta.text.split()) <= 1 for delta in deltas)


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ('/call echo {"text":"hi"}', RequestedCall("echo", '{"text":"hi"}')),
        ("/call echo", RequestedCall("echo", "{}")),
        ("/call echo   ", RequestedCall("echo", "{}")),
        ("/call echo not json", RequestedCall("echo", "not json")),
        ('/call echo {"a" : 1}  ', RequestedCall("echo", '{"a" : 1}  ')),
        ("/call echo [1]\r", RequestedCall("echo", "[1]")),
        ('/call echo {"a":"\u2028"}', RequestedCall("echo", '{"a":"\u2028"}')),
    ],
)
async def test_a_call_line_passes_its_rest_on_as_it_stands(line: str, call: RequestedCall) -> None:
    deltas, answer = await answer_to(user(line))

    assert calls_of(answer) == (call,)
    assert answer.stop_reason == "tool_calls"
    assert text_of(answer) == ""
    assert [(delta.kind, delta.text, delta.index) for delta in deltas] == [
        ("tool_arguments", call.arguments, 0)
    ]


async def test_each_call_line_is_a_call_of_one_batch_in_order() -> None:
    _, answer = await answer_to(user('/call a {"n":1}\nsome words\n/call b\n/call a {"n":2}'))

    assert calls_of(answer) == (
        RequestedCall("a", '{"n":1}'),
        RequestedCall("b", "{}"),
        RequestedCall("a", '{"n":2}'),
    )


@pytest.mark.parametrize(
    "text", ["/call", "/call ", "say /call echo {}", "/calls echo", " /call echo"]
)
async def test_a_line_that_only_looks_like_a_call_is_text(text: str) -> None:
    _, answer = await answer_to(user(text))

    assert calls_of(answer) == ()
    assert text_of(answer) == f"You said: {text}"


async def test_after_results_it_answers_with_their_text_in_order() -> None:
    _, answer = await answer_to(
        user("/call echo"),
        AssistantTurn((), "demo/script"),
        result("first"),
        result("second", is_error=True),
    )

    assert text_of(answer) == "first\nsecond"
    assert answer.stop_reason == "end_turn"


async def test_only_the_newest_messages_are_its_script() -> None:
    _, answer = await answer_to(
        user("/call echo"),
        AssistantTurn((), "demo/script"),
        result("old"),
        user("new"),
    )

    assert text_of(answer) == "You said: new"


async def test_an_image_is_named_where_it_stood() -> None:
    image = ImageBlock("aGk=", "image/png")
    _, answer = await answer_to(UserTurn((TextBlock("look: "), image)))

    assert text_of(answer) == "You said: look: [image/png]"


@pytest.mark.requirement("MODEL-02")
@pytest.mark.parametrize(
    ("model_id", "known"),
    [
        ("demo/script", True),
        ("demo/other", False),
        ("demo/", False),
        ("demo", False),
        ("", False),
        ("any/a/b/c", True),
        ("any/", False),
        ("nobody/script", False),
    ],
)
def test_a_model_id_is_split_at_its_first_slash(model_id: str, known: bool) -> None:
    registry = ModelRegistry({"demo": DemoModel(), "any": DemoModel()}, named={"demo": ("script",)})

    assert (registry.find(model_id) is not None) is known
    assert registry.names() == ("demo/script", "any/*")
