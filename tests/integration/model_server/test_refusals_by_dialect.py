"""What each provider refuses in its own way: every case is one change to a valid request."""

import pytest

from brain_testing.model_server import encrypted_of, signature_of
from brain_testing.model_server.pictures import PNG
from brain_testing.model_server.valid_requests import GONE, URL, Case, spoiled

_CHAT = [
    Case("messages.3", GONE, "did not have response messages: b"),
    Case("messages.5.role", "tool", "missing required field `tool_call_id`"),
    Case("messages.3.tool_call_id", "x", "must be a response to a preceding message"),
    Case("messages.4.tool_call_id", "b", "Duplicate value for 'tool_call_id' of 'b'"),
    Case("messages.+3", {"role": "user", "content": "?"}, "did not have response messages: a, b"),
    Case("messages.+1", {"role": "tool", "tool_call_id": "a", "content": ""}, "a preceding mess"),
    Case("messages.2", GONE, "must be a response to a preceding message with 'tool_calls'"),
    Case("messages.2.tool_calls", [], "'messages[2].tool_calls': empty array"),
    Case("messages.2.tool_calls", GONE, "expected a string, got None"),
    Case("messages.2.tool_calls.0.id", "b", "Duplicate value for 'tool_calls' id 'b'"),
    Case("messages.2.tool_calls.0.id", "i" * 41, "with a length from 1 to 40"),
    Case("messages.2.tool_calls.0.function.name", "a.b", "does not match pattern"),
    Case("messages.2.tool_calls.0.function.arguments", "", "expected the JSON of an object"),
    Case("messages.2.tool_calls.0.function.arguments", "[]", "expected the JSON of an object"),
    Case("messages.2.tool_calls.0.function.arguments", {}, "Expected `str`, got `object`"),
    Case("messages.3.content", [{"type": "image_url", "image_url": {"url": URL}}], "image_url"),
    Case("messages.3.content", GONE, "missing required field `content`"),
    Case("messages.5.content", None, "Expected `str | array`, got `null`"),
    Case("messages.5.content", [], "'messages[5].content': empty array"),
    Case("messages.5", {"role": "assistant", "content": None}, "expected a string, got None"),
    Case("messages.5.role", "robot", "Invalid value 'robot'"),
    Case("messages.1.content.1.image_url", URL, "Expected `object`, got `str`"),
    Case("messages.1.content.1.image_url.url", "file:///etc/passwd", "Invalid image_url"),
    Case("stream", False, "only allowed when 'stream' is enabled"),
    Case("tools", [], "Expected from 1 to 128"),
    Case("max_tokens", 0, "below minimum"),
    Case("temperature", 2.5, "from 0 to 2"),
]

_RESPONSES = [
    Case("input.4", GONE, "No tool output found for function call b"),
    Case("input.2", GONE, "No tool call found for function call output with call_id a"),
    Case("input.4.call_id", "a", "No tool call found"),
    Case("input.4.call_id", "x", "No tool call found for function call output with call_id x"),
    Case("input.+4", {"role": "user", "content": "?"}, "No tool output found"),
    Case("input.+0", {"type": "function_call_output", "call_id": "a", "output": ""}, "No tool cal"),
    Case("input.2.name", "a b", "does not match pattern"),
    Case("input.2.arguments", "nonsense", "expected the JSON of an object"),
    Case("input.2.call_id", "i" * 65, "with a length from 1 to 64"),
    Case("input.2.id", "call_1", "begins with 'fc_'"),
    Case("input.1.id", "1", "begins with 'rs_'"),
    Case("input.1.encrypted_content", GONE, "Items are not persisted"),
    Case("input.1.encrypted_content", encrypted_of("Oh."), "could not be verified"),
    Case("input.1.summary.0.text", "Oh.", "could not be verified"),
    Case("input.1.status", "completed", "unknown field `status`"),
    Case("input.+2", {"role": "user", "content": "?"}, "without its required following item"),
    Case("input.0.content.0.type", "output_text", "Invalid value 'output_text'"),
    Case("input.6.content", [{"type": "input_text", "text": "x"}], "Invalid value 'input_text'"),
    Case("input.0.content", [], "'input[0].content': empty array"),
    Case("input.0.type", "robot", "Invalid value: 'robot' for 'input[0].type'"),
    Case("input.0.role", "tool", "Invalid enum value 'tool'"),
    Case("include", ["everything"], "Invalid enum value 'everything'"),
    Case("reasoning", {"effort": "off", "summary": "auto"}, "Invalid enum value 'off'"),
    Case("max_output_tokens", 15, "Expected a value >= 16"),
    Case("tools.0.strict", GONE, "missing required field `strict`"),
]

_TEXT = {"type": "text", "text": "?"}
_IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
_RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "1"}
_THOUGHT = {"type": "thinking", "thinking": "Oh.", "signature": signature_of("Oh.")}
_MARKED = {**_TEXT, "cache_control": {"type": "ephemeral"}}

_ANTHROPIC = [
    Case("max_tokens", GONE, "missing required field `max_tokens`"),
    Case("max_tokens", 0, "greater than or equal to 1"),
    Case("max_tokens", 1024, "must be greater than `thinking.budget_tokens`"),
    Case("thinking.budget_tokens", 1000, "at least 1024"),
    Case("temperature", 0.5, "`temperature` may only be set to 1"),
    Case("temperature", 1.5, "range: 0..1"),
    Case("messages.0", GONE, 'first message must use the "user" role'),
    Case("messages.2", GONE, "must end with a user message"),
    Case("messages.1", GONE, "unexpected `tool_use_id` found in `tool_result` blocks: b"),
    Case("messages.2.content.0", GONE, "found without `tool_result` blocks immediately after: b"),
    Case("messages.2.content", "?", "found without `tool_result` blocks immediately after: a, b"),
    Case("messages.2.content.0.tool_use_id", "x", "unexpected `tool_use_id`"),
    Case("messages.2.content.+0", _RESULT, "each tool_use must have a single result"),
    Case("messages.2.content.+0", _TEXT, "must come before all other content"),
    Case("messages.0.content.+0", _RESULT, "unexpected `tool_use_id`"),
    Case("messages.1.content.1.id", "b", "unexpected `tool_use_id`"),
    Case("messages.1.content.1.id", "a.b", "String should match pattern"),
    Case("messages.1.content.1.name", "a.b", "String should match pattern"),
    Case("messages.1.content.1.input", "{}", "Expected `object`, got `str`"),
    Case("messages.1.content.1.input", GONE, "missing required field `input`"),
    Case("messages.1.content.0.signature", GONE, "missing required field `signature`"),
    Case("messages.1.content.0.signature", "", "Invalid `signature`"),
    Case("messages.1.content.0.signature", signature_of("Oh."), "Invalid `signature`"),
    Case("messages.1.content.0.thinking", "Oh.", "Invalid `signature`"),
    Case("messages.1.content.0", GONE, "must start with a thinking block"),
    Case("messages.1.content.+3", _THOUGHT, "final block in an assistant message cannot be"),
    Case("messages.1.content.1", _IMAGE, "Invalid value 'image'"),
    Case("messages.0.content", [], "non-empty content"),
    Case("messages.0.content", "", "non-empty content"),
    Case("messages.0.content.0.text", "", "must be non-empty"),
    Case("messages.0.content.0.text", " \n", "must contain non-whitespace text"),
    Case("messages.2.content.0.content.0.text", "", "must be non-empty"),
    Case("messages.2.content.1.content", [_IMAGE], 'must be type "text" if "is_error" is true'),
    Case("messages.0.content.1.source", {"type": "url"}, "missing required field `url`"),
    Case("system.0.text", "", "must be non-empty"),
    Case("messages.0.content", [_MARKED] * 4, "A maximum of 4 blocks with cache_control"),
]


@pytest.mark.parametrize("case", _CHAT, ids=lambda case: case.where)
def test_openai_chat_refuses(case: Case) -> None:
    assert case.says in spoiled("openai-chat", case)


@pytest.mark.parametrize("case", _RESPONSES, ids=lambda case: case.where)
def test_openai_responses_refuses(case: Case) -> None:
    assert case.says in spoiled("openai-responses", case)


@pytest.mark.parametrize("case", _ANTHROPIC, ids=lambda case: case.where)
def test_anthropic_messages_refuses(case: Case) -> None:
    assert case.says in spoiled("anthropic-messages", case)
