# ruff: noqa: E501 (what providers say stays on one line)
"""What providers say when they refuse, in the words that they use (LOOP-03)."""

import json
from typing import Any

import pytest

from brain.engine.model.protocol import Failure
from brain_core.usage import Usage
from brain_testing.model_driver import ANTHROPIC, CHAT, KEY, RESPONSES, ModelDriver
from brain_testing.raw_script import Read, Send, response, streams
from brain_testing.tool_server import ToolServer

pytestmark = pytest.mark.requirement("LOOP-03")


def openai(message: str, code: str | None = None, kind: str = "invalid_request_error") -> Any:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def anthropic(kind: str, message: str) -> Any:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def google(status: str, code: int, message: str) -> Any:
    return [{"error": {"code": code, "message": message, "status": status}}]


RATE = "rate_limited"
QUOTA = "quota_exceeded"
AUTH = "auth_failed"
OVERFLOW = "context_overflow"
BAD = "bad_request"

# fmt: off
REFUSALS: dict[str, tuple[int, Any, str]] = {
    "OpenAI, wrong key": (401, openai("Incorrect API key provided: sk-proj-abc***xyz. You can find your API key at https://platform.openai.com/account/api-keys.", "invalid_api_key"), AUTH),
    "OpenAI, too fast": (429, openai("Rate limit reached for gpt-4o in organization org-AbCdEf123 on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.", "rate_limit_exceeded", "tokens"), RATE),
    "OpenAI, larger than any minute": (429, openai("Request too large for gpt-4o in organization org-AbCdEf123 on tokens per min (TPM): Limit 30000, Requested 41000. The input or output tokens must be reduced in order to run successfully.", "rate_limit_exceeded", "tokens"), OVERFLOW),
    "OpenAI, no credit": (429, openai("You exceeded your current quota, please check your plan and billing details.", "insufficient_quota", "insufficient_quota"), QUOTA),
    "OpenAI, too long": (400, openai("This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.", "context_length_exceeded"), OVERFLOW),
    "OpenAI, no such model": (404, openai("The model `gpt-9` does not exist or you do not have access to it.", "model_not_found"), "model_not_found"),
    "OpenAI, bad parameter": (400, openai("Unsupported value: 'temperature' does not support 0.2 with this model.", "unsupported_value"), BAD),
    "OpenAI, country": (403, openai("Country, region, or territory not supported", "unsupported_country_region_territory", "request_forbidden"), AUTH),
    "OpenAI, its own error": (500, openai("The server had an error while processing your request.", None, "server_error"), "provider_error"),
    "OpenAI, overloaded": (503, openai("The engine is currently overloaded, please try again later", None, "service_unavailable_error"), "overloaded"),
    "Anthropic, wrong key": (401, anthropic("authentication_error", "invalid x-api-key"), AUTH),
    "Anthropic, forbidden": (403, anthropic("permission_error", "Your API key does not have permission to use the specified resource."), AUTH),
    "Anthropic, too fast": (429, anthropic("rate_limit_error", "Number of request tokens has exceeded your per-minute rate limit"), RATE),
    "Anthropic, overloaded": (529, anthropic("overloaded_error", "Overloaded"), "overloaded"),
    "Anthropic, its own error": (500, anthropic("api_error", "Internal server error"), "provider_error"),
    "Anthropic, no credit": (400, anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), QUOTA),
    "Anthropic, billing": (402, anthropic("billing_error", "There's an issue with your billing."), QUOTA),
    "Anthropic, too long": (400, anthropic("invalid_request_error", "prompt is too long: 209000 tokens > 200000 maximum"), OVERFLOW),
    "Anthropic, too long with the answer": (400, anthropic("invalid_request_error", "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000, decrease input length or `max_tokens` and try again"), OVERFLOW),
    "Anthropic, too many bytes": (413, anthropic("request_too_large", "Request exceeds the maximum size"), OVERFLOW),
    "Anthropic, no such model": (404, anthropic("not_found_error", "model: claude-9"), "model_not_found"),
    "Anthropic, bad request": (400, anthropic("invalid_request_error", "messages.1: `tool_use` ids were found without `tool_result` blocks"), BAD),
    "Google, wrong key": (400, google("INVALID_ARGUMENT", 400, "API key not valid. Please pass a valid API key."), AUTH),
    "Google, too fast": (429, google("RESOURCE_EXHAUSTED", 429, "You exceeded your current quota, please check your plan and billing details."), RATE),
    "Google, too long": (400, google("INVALID_ARGUMENT", 400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."), OVERFLOW),
    "Google, overloaded": (503, google("UNAVAILABLE", 503, "The model is overloaded. Please try again later."), "overloaded"),
    "OpenRouter, no credit": (402, {"error": {"code": 402, "message": "Insufficient credits. Add more using https://openrouter.ai/settings/credits"}}, QUOTA),
    "OpenRouter, too long": (400, {"error": {"code": 400, "message": "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens."}}, OVERFLOW),
    "OpenRouter, upstream": (502, {"error": {"code": 502, "message": "Provider returned error", "metadata": {"raw": "x"}}}, "provider_error"),
    "Groq, too long": (400, openai("Please reduce the length of the messages or completion.", "context_length_exceeded"), OVERFLOW),
    "Groq, larger than any minute": (413, openai("Request too large for model `llama` in organization `org_01abcdefg` on tokens per minute (TPM): Limit 6000, Requested 9000", "rate_limit_exceeded", "tokens"), OVERFLOW),
    "Mistral, wrong key": (401, {"message": "Unauthorized", "request_id": "1"}, AUTH),
    "Mistral, bad field": (422, {"object": "error", "message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "x"]}]}, "type": "invalid_request_error", "code": None}, BAD),
    "Mistral, too long": (400, {"object": "error", "message": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length", "type": "invalid_request_error", "code": 3051}, OVERFLOW),
    "Mistral, no capacity": (429, {"object": "error", "message": "Service tier capacity exceeded for this model.", "type": "service_tier_capacity_exceeded", "code": "3505"}, RATE),
    "DeepSeek, no credit": (402, openai("Insufficient Balance", "invalid_request_error", "unknown_error"), QUOTA),
    "DeepSeek, too long": (400, openai("This model's maximum context length is 131072 tokens. However, you requested 140000 tokens (132000 in the messages, 8000 in the completion).", "invalid_request_error"), OVERFLOW),
    "xAI, too long": (400, {"code": "Client specified an invalid argument", "error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens."}, OVERFLOW),
    "xAI, wrong key": (400, {"code": "Client specified an invalid argument", "error": "Incorrect API key provided: xa***yz. You can obtain an API key from https://console.x.ai."}, AUTH),
    "Together, too long": (422, openai("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32769. Given: 40000 `inputs` tokens and 512 `max_new_tokens`"), OVERFLOW),
    "Fireworks, too long": (400, openai("The prompt is too long: 140000, model maximum context length: 131071"), OVERFLOW),
    "Ollama, no such model": (404, openai('model "llama9" not found, try pulling it first', None, "api_error"), "model_not_found"),
    "Ollama, too long": (400, {"error": "prompt too long; exceeded max context length by 120 tokens"}, OVERFLOW),
    "vLLM, too long": (400, {"object": "error", "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.", "type": "BadRequestError", "param": None, "code": 400}, OVERFLOW),
    "vLLM, too long, in other words": (400, {"object": "error", "message": "The decoder prompt (length 5000) is longer than the maximum model length of 4096.", "type": "BadRequestError", "code": 400}, OVERFLOW),
    "LM Studio, too long": (400, {"error": "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens."}, OVERFLOW),
    "llama.cpp, too long": (400, {"error": {"code": 400, "message": "the request exceeds the available context size, try increasing it", "type": "exceed_context_size_error"}}, OVERFLOW),
    "Kimi, too long": (400, openai("Invalid request: Your request exceeded model token limit: 262144"), OVERFLOW),
    "Bedrock, too long": (400, {"message": "Input is too long for requested model."}, OVERFLOW),
    "Azure, filter": (400, openai("The response was filtered due to the prompt triggering Azure OpenAI's content management policy.", "content_filter"), "content_refused"),
    "a wrong address": (404, {"detail": "Not Found"}, BAD),
    "a wrong method": (405, {"detail": "Method Not Allowed"}, BAD),
    "a gateway's page": (502, "<html>Bad gateway</html>", "provider_error"),
    "text": (429, "Too many requests", RATE),
    "nothing": (500, "", "provider_error"),
    "a time-out": (408, {}, "provider_error"),
    "a number": (500, 7, "provider_error"),
    "null": (403, None, AUTH),
}
# fmt: on
TRANSIENT = (RATE, "overloaded", "provider_error")


@pytest.mark.parametrize("name", REFUSALS)
async def test_a_refusal_by_status(name: str, driver: ModelDriver) -> None:
    status, body, code = REFUSALS[name]
    page = isinstance(body, str) and body.startswith("<")
    sent = response(
        body if isinstance(body, str) else json.dumps(body),
        content_type="text/html" if page else "application/json",
        status=f"{status} Refused",
    )
    async with ToolServer(Read(), Send(sent)) as server:
        failure = (await driver.ask(server, ANTHROPIC if "Anthropic" in name else CHAT)).failure

    assert (failure.code, failure.transient) == (code, code in TRANSIENT)
    assert failure.usage == Usage()
    assert f"The status was {status}." in failure.message
    for leak in ("http", "<html", "sk-proj", "org-", "org_01", "***"):
        assert leak not in failure.message


CHAT_HI = 'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'
# fmt: off
IN_STREAMS: dict[str, tuple[str, str, str]] = {
    "OpenAI": (CHAT, '{"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}', "provider_error"),
    "OpenRouter, upstream": (CHAT, '{"id":"x","error":{"code":"server_error","message":"Provider disconnected"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}', "provider_error"),
    "OpenRouter, a status": (CHAT, '{"error":{"code":429,"message":"Rate limited upstream"},"choices":[]}', RATE),
    "OpenRouter, a status of quota": (CHAT, '{"error":{"code":402,"message":"Insufficient credits"}}', QUOTA),
    "OpenRouter, only a reason": (CHAT, '{"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}', "provider_error"),
    "vLLM": (CHAT, '{"error":{"object":"error","message":"This model\'s maximum context length is 4096 tokens.","type":"BadRequestError","code":400}}', OVERFLOW),
    "Groq, a call that isn't JSON": (CHAT, '{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed"}}', BAD),
    "DeepSeek, no room": (CHAT, '{"choices":[{"index":0,"delta":{},"finish_reason":"insufficient_system_resource"}]}', "overloaded"),
    "OpenAI's filter": (CHAT, '{"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}', "content_refused"),
    "Gemini's filter": (CHAT, '{"choices":[{"index":0,"delta":{},"finish_reason":"content_filter: PROHIBITED_CONTENT"}]}', "content_refused"),
    "Gemini's native filter": (CHAT, '{"choices":[{"index":0,"delta":{},"finish_reason":"SAFETY"}]}', "content_refused"),
    "Gemini's broken call": (CHAT, '{"choices":[{"index":0,"delta":{},"finish_reason":"function_call_filter: MALFORMED_FUNCTION_CALL"}]}', "provider_error"),
    "a text": (CHAT, '{"error":"upstream timed out"}', "provider_error"),
    "Responses, overloaded": (RESPONSES, '{"type":"error","code":"server_is_overloaded","message":"Try later","param":null,"sequence_number":3}', "overloaded"),
    "Responses, nested": (RESPONSES, '{"type":"error","sequence_number":2,"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}', OVERFLOW),
    "Responses, quota": (RESPONSES, '{"type":"error","code":"insufficient_quota","message":"You exceeded your current quota."}', QUOTA),
    "Responses, failed": (RESPONSES, '{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"Oops"},"output":[],"usage":null}}', "provider_error"),
    "Responses, failed by rate": (RESPONSES, '{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"Slow down"},"output":[]}}', RATE),
    "Responses, failed without a word": (RESPONSES, '{"type":"response.failed","response":{"status":"failed","error":null,"output":[]}}', "provider_error"),
    "Responses, a bad image": (RESPONSES, '{"type":"response.failed","response":{"error":{"code":"invalid_image_format","message":"No image"}}}', BAD),
    "Responses, policy": (RESPONSES, '{"type":"response.failed","response":{"error":{"code":"invalid_prompt","message":"No"}}}', "content_refused"),
    "Responses, filter": (RESPONSES, '{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]}}', "content_refused"),
    "Anthropic, overloaded": (ANTHROPIC, '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "overloaded"),
    "Anthropic, too fast": (ANTHROPIC, '{"type":"error","error":{"type":"rate_limit_error","message":"Slow down"}}', RATE),
    "Anthropic, its own error": (ANTHROPIC, '{"type":"error","error":{"details":null,"type":"api_error","message":"Internal server error"}}', "provider_error"),
    "Anthropic, too long": (ANTHROPIC, '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 3 tokens > 2 maximum"}}', OVERFLOW),
}
# fmt: on


@pytest.mark.parametrize("name", IN_STREAMS)
async def test_an_error_inside_a_stream(name: str, driver: ModelDriver) -> None:
    api, data, code = IN_STREAMS[name]
    before = CHAT_HI if api == CHAT else ""
    async with ToolServer(*streams(f"{before}data: {data}\n\n".encode())) as server:
        heard = await driver.ask(server, api)

    assert (heard.failure.code, heard.failure.transient) == (code, code in TRANSIENT)
    assert heard.text() == ("Hi" if api == CHAT else "")


async def test_an_error_in_place_of_a_stream_that_claims_to_be_well(driver: ModelDriver) -> None:
    sent = response(openai("No", "insufficient_quota"))
    async with ToolServer(Read(), Send(sent)) as server:
        failure = (await driver.ask(server)).failure

    assert failure.code == QUOTA


HEADERS: dict[tuple[str, ...], float | None] = {
    ("retry-after: 7",): 7.0,
    ("retry-after: 0.5",): 0.5,
    ("Retry-After: 7", "retry-after-ms: 1500"): 1.5,
    ("Retry-After: Tue, 01 Dec 2026 10:00:30 GMT", "Date: Tue, 01 Dec 2026 10:00:00 GMT"): 30.0,
    ("Retry-After: Tue, 01 Dec 2026 09:00:00 GMT", "Date: Tue, 01 Dec 2026 10:00:00 GMT"): 0.0,
    ("Retry-After: -3",): 0.0,
    ("Retry-After: soon",): None,
    ("Retry-After: inf",): None,
    ("Retry-After: ",): None,
    (): None,
}


@pytest.mark.parametrize("headers", HEADERS)
async def test_when_to_ask_again(headers: tuple[str, ...], driver: ModelDriver) -> None:
    sent = response(openai("Slow down"), *headers, status="429 Too Many Requests")
    async with ToolServer(Read(), Send(sent)) as server:
        assert (await driver.ask(server)).failure.retry_after == HEADERS[headers]


async def test_google_says_when_to_ask_again_in_the_error(driver: ModelDriver) -> None:
    kind = "type.googleapis.com/google.rpc.RetryInfo"
    body = google("RESOURCE_EXHAUSTED", 429, "Slow down")
    body[0]["error"]["details"] = [{"@type": "other"}, {"@type": kind, "retryDelay": "34.5s"}]
    async with ToolServer(Read(), Send(response(body, status="429 Slow"))) as server:
        assert (await driver.ask(server)).failure.retry_after == 34.5


async def test_what_a_provider_says_is_passed_on_without_secrets_and_addresses(
    driver: ModelDriver,
) -> None:
    text = (
        f"No {KEY} and no sk-abc123def456 and no x-{'h' * 20} for org-AbC123xyz at"
        " https://api.example.com/v1?k=1 or 10.1.2.3:8000, said Bearer abc.def"
    )
    async with ToolServer(Read(), Send(response(openai(text), status="400 Bad"))) as server:
        failure = (await driver.ask(server, headers={"X-Own": f"x-{'h' * 20}"})).failure

    assert failure == Failure(
        "bad_request",
        "The model's provider refused the request. The status was 400. It said: No [secret] and no"
        " [secret] and no [secret] for [account] at [address] or [address], said [secret]",
        False,
        Usage(),
    )
