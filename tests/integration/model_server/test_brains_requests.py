"""What Brain's adapters send is valid by the rules, and by the official packages' own types.

The types say what a request may consist of, the rules what must stand where.
"""

import base64
from collections.abc import Iterable
from typing import Any, cast

import pytest
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from msgspec import Raw, json
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter

from brain.engine.model.anthropic_messages import AnthropicMessages
from brain.engine.model.chat_quirks import quirks_of
from brain.engine.model.dialect import Dialect as Adapter
from brain.engine.model.dialect import Target
from brain.engine.model.openai_chat import OpenaiChat
from brain.engine.model.openai_responses import OpenaiResponses
from brain.engine.model.pricing import ModelFacts
from brain.engine.model.protocol import AssistantTurn, ModelRequest, ToolTurn, Turn, UserTurn
from brain_core.content import ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock
from brain_core.session import ToolSpec
from brain_testing.model_server import DIALECTS, Dialect, encrypted_of, refusal, signature_of
from brain_testing.model_server.pictures import GIF, PNG
from brain_testing.model_server.valid_requests import VALID

_ADAPTERS: dict[Dialect, Adapter] = {
    "openai-chat": OpenaiChat(quirks_of("openai", "https://api.openai.com/v1")),
    "openai-responses": OpenaiResponses(),
    "anthropic-messages": AnthropicMessages(),
}
_TYPES: dict[Dialect, TypeAdapter[Any]] = {
    "openai-chat": TypeAdapter(CompletionCreateParamsStreaming),
    "openai-responses": TypeAdapter(ResponseCreateParamsStreaming),
    "anthropic-messages": TypeAdapter(MessageCreateParamsStreaming),
}
_REPLAYS: dict[Dialect, Any] = {
    "openai-chat": {"api": "openai-chat", "field": "reasoning_content"},
    "openai-responses": {
        "api": "openai-responses",
        "item": {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "Hm."}],
            "encrypted_content": encrypted_of("Hm."),
        },
    },
    "anthropic-messages": {"api": "anthropic-messages", "signature": signature_of("Hm.")},
}

_TOOLS = (
    ToolSpec("ask", "Asks.", Raw(b'{"type":"object","properties":{"q":{"type":"string"}}}')),
    ToolSpec("now", "Tells the time.", Raw(b'{"type":"object","additionalProperties":false}')),
)
_HI = UserTurn((TextBlock("Hi"),))
_PICTURE = ImageBlock(PNG, "image/png")


def _called(*calls: tuple[str, str, bytes], before: tuple[Any, ...] = ()) -> AssistantTurn:
    blocks = [ToolCallBlock(call_id, name, Raw(arguments)) for call_id, name, arguments in calls]
    return AssistantTurn((*before, *blocks), "test/m")


def _came(call_id: str, *content: Any, is_error: bool = False) -> ToolTurn:
    return ToolTurn(call_id, "ask", content, is_error)


_TEXT = TextBlock("Fine.")
_CONVERSATIONS: dict[str, tuple[Turn, ...]] = {
    "one message": (_HI,),
    "an image": (UserTurn((TextBlock("Look."), _PICTURE, ImageBlock(GIF, "image/gif"))),),
    "nothing but an image": (UserTurn((_PICTURE,)),),
    "an answer": (_HI, AssistantTurn((_TEXT,), "test/m"), _HI),
    "a batch": (
        _HI,
        _called(("a", "ask", b"{}"), ("b", "now", b"{}")),
        _came("a", _TEXT),
        _came("b", _TEXT),
    ),
    "a batch and steers": (_HI, _called(("a", "ask", b"{}")), _came("a", _TEXT), _HI, _HI),
    "an image in a result": (_HI, _called(("a", "ask", b"{}")), _came("a", _TEXT, _PICTURE)),
    "nothing but an image in a result": (_HI, _called(("a", "ask", b"{}")), _came("a", _PICTURE)),
    "images in two results": (
        _HI,
        _called(("a", "ask", b"{}"), ("b", "ask", b"{}")),
        _came("a", _PICTURE),
        _came("b", _PICTURE, _TEXT),
    ),
    "an error with an image": (
        _HI,
        _called(("a", "ask", b"{}")),
        _came("a", _TEXT, _PICTURE, is_error=True),
    ),
    "an empty result": (_HI, _called(("a", "ask", b"{}")), _came("a", TextBlock(""))),
    "an empty error": (
        _HI,
        _called(("a", "ask", b"{}")),
        _came("a", TextBlock(" "), is_error=True),
    ),
    "an empty message": (UserTurn((TextBlock(""),)),),
    "a blank message": (UserTurn((TextBlock(" \n"),)), AssistantTurn((_TEXT,), "test/m"), _HI),
    "a name that was made up": (_HI, _called(("a", "a b.c/ä" * 20, b"{}")), _came("a", _TEXT)),
    "no name": (_HI, _called(("a", "", b"{}")), _came("a", _TEXT)),
    "arguments that are a list": (_HI, _called(("a", "ask", b"[1]")), _came("a", _TEXT)),
    "arguments that are no JSON": (_HI, _called(("a", "ask", b'"{\\"q\\":"')), _came("a", _TEXT)),
    "an image of a type that models can't see": (UserTurn((ImageBlock("AAAA", "image/tiff"),)),),
    "an image of another type than it says": (
        UserTurn((TextBlock("Look."), ImageBlock(GIF, "image/png"))),
    ),
    "an image that is none": (
        UserTurn((ImageBlock(base64.b64encode(b"nothing of the kind").decode(), "image/png"),)),
    ),
}

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def _sent(dialect: Dialect, request: ModelRequest, facts: ModelFacts | None = None) -> Any:
    target = Target(f"test/{request.model}", facts or ModelFacts())
    return json.decode(_ADAPTERS[dialect].body(request, target))


def _typed(dialect: Dialect, body: Any) -> Any:
    """The body without what the official types don't know. Raises: ValidationError."""
    return _plain(_TYPES[dialect].validate_python(body))


def _plain(value: Any) -> Any:
    """The value with lists in place of iterators, which check their elements only now."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {name: _plain(each) for name, each in fields.items()}
    if isinstance(value, str) or not isinstance(value, Iterable):
        return value
    return [_plain(each) for each in cast("Iterable[Any]", value)]


@every_dialect
@pytest.mark.parametrize("name", _CONVERSATIONS)
@pytest.mark.parametrize("thinking", ["off", "high"])
@pytest.mark.requirement("LOOP-02")
def test_any_conversation_is_valid(dialect: Dialect, name: str, thinking: Any) -> None:
    turns = _CONVERSATIONS[name]
    body = _sent(dialect, ModelRequest("m", turns, _TOOLS, "Be brief.", thinking=thinking))

    assert refusal(dialect, body) is None
    assert _typed(dialect, body) == body


@every_dialect
@pytest.mark.parametrize("thinking", ["off", "low", "medium", "high"])
@pytest.mark.parametrize("model", ["m", "claude-opus-5", "gpt-5.5"])
@pytest.mark.parametrize("most", [None, 1024, 100_000])
def test_any_setting_is_valid(
    dialect: Dialect, thinking: Any, model: str, most: int | None
) -> None:
    for temperature in (None, 0.0, 1.0):
        request = ModelRequest(
            model,
            (_HI,),
            max_output_tokens=most,
            temperature=temperature,
            thinking=thinking,
        )
        body = _sent(dialect, request)

        assert refusal(dialect, body) is None
        assert _without_temperature(dialect, _typed(dialect, body)) == _without_temperature(
            dialect, body
        )


def _without_temperature(dialect: Dialect, body: Any) -> Any:
    """Anthropic's package has dropped it, since its newer models refuse it; older ones take it."""
    if dialect == "anthropic-messages":
        body.pop("temperature", None)
    return body


@every_dialect
def test_a_thought_is_handed_back_as_it_was(dialect: Dialect) -> None:
    thought = ThinkingBlock("Hm.", Raw(json.encode(_REPLAYS[dialect])))
    turns = (_HI, _called(("a", "ask", b"{}"), before=(thought,)), _came("a", _TEXT))
    body = _sent(dialect, ModelRequest("m", turns, _TOOLS, thinking="high"))

    assert refusal(dialect, body) is None
    if dialect == "openai-chat":
        # The field is one of servers that imitate the format, not of OpenAI's own.
        assert body["messages"][1].pop("reasoning_content") == "Hm."
    else:
        assert b"Hm." in json.encode(body)
    assert _typed(dialect, body) == body


@every_dialect
def test_a_thought_without_what_its_provider_wants_back_is_left_out(dialect: Dialect) -> None:
    turns = (_HI, _called(("a", "ask", b"{}"), before=(ThinkingBlock("Hm."),)), _came("a", _TEXT))
    body = _sent(dialect, ModelRequest("m", turns, _TOOLS))

    assert refusal(dialect, body) is None
    assert b"Hm." not in json.encode(body)


def test_a_turn_that_goes_on_without_its_first_thought_is_not_thought_about() -> None:
    """As after a compaction in the middle of it: the provider would refuse the budget."""
    thought = ThinkingBlock("Hm.", Raw(json.encode(_REPLAYS["anthropic-messages"])))
    later = (_called(("b", "ask", b"{}")), _came("b", _TEXT))
    first = (_HI, _called(("a", "ask", b"{}"), before=(thought,)), _came("a", _TEXT))
    whole = _sent("anthropic-messages", ModelRequest("m", (*first, *later), thinking="high"))
    rest = _sent("anthropic-messages", ModelRequest("m", (_HI, *later), thinking="high"))
    after = _sent("anthropic-messages", ModelRequest("m", (_HI, *later, _HI), thinking="high"))

    assert [body.get("thinking", {}).get("type") for body in (whole, rest, after)] == [
        "enabled",
        None,
        "enabled",
    ]
    assert not [body for body in (whole, rest, after) if refusal("anthropic-messages", body)]


@every_dialect
def test_the_rules_take_what_the_official_types_take(dialect: Dialect) -> None:
    body = json.decode(json.encode(VALID[dialect]))
    if dialect == "openai-chat":
        del body["messages"][2]["reasoning_content"]

    assert _typed(dialect, body) == body
