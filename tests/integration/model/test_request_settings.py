"""How a session's settings are said in each format and to each provider, and where."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from brain.engine.model.protocol import ModelRequest
from brain_core.content import TextBlock
from brain_testing.model_driver import ANTHROPIC, CHAT, KEY, RESPONSES, ModelDriver
from brain_testing.model_turns import answer, asked, call, result, said, thought
from brain_testing.raw_script import Read, Send, response
from brain_testing.tool_server import ToolServer

pytestmark = pytest.mark.requirement("MODEL-01")

Sent = Callable[..., Awaitable[Any]]
APIS = (CHAT, RESPONSES, ANTHROPIC)
HIS = thought("Hm.", api=CHAT, field="reasoning_content")

LIMITED = asked(max_output_tokens=100, temperature=0.5, thinking="low")
SETTINGS: dict[tuple[str, str], dict[str, Any]] = {
    (CHAT, "other"): {"max_tokens": 100, "temperature": 0.5, "reasoning_effort": "low"},
    (CHAT, "openai"): {"max_completion_tokens": 100, "temperature": 0.5, "reasoning_effort": "low"},
    (CHAT, "mistral"): {"max_tokens": 100, "temperature": 0.5, "reasoning_effort": "low"},
    (CHAT, "openrouter"): {"max_tokens": 100, "temperature": 0.5, "reasoning": {"effort": "low"}},
    (RESPONSES, "openai"): {
        "max_output_tokens": 100,
        "temperature": 0.5,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low", "summary": "auto"},
    },
    (ANTHROPIC, "anthropic"): {
        "max_tokens": 2148,
        "thinking": {"type": "enabled", "budget_tokens": 1124},
    },
}
COMMON = {"model", "messages", "input", "stream", "store"}


@pytest.mark.parametrize(("api", "provider"), SETTINGS)
async def test_settings_of_a_session(api: str, provider: str, sent: Sent) -> None:
    body = await sent(api, LIMITED, provider=provider)
    asks = body.pop("stream_options", None)

    assert {key: body[key] for key in set(body) - COMMON} == SETTINGS[api, provider]
    assert (asks is None) == (api != CHAT or provider in ("mistral", "openrouter"))


THINKS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a Claude that is new": (
        {},
        {
            "max_tokens": 32_000,
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": "high"},
        },
    ),
    "by a budget": (
        {"thinking": "budget", "max_output_tokens": 64_000},
        {"max_tokens": 64_000, "thinking": {"type": "enabled", "budget_tokens": 16_384}},
    ),
    "by a budget in little room": (
        {"thinking": "budget", "max_output_tokens": 2048},
        {"max_tokens": 2048, "thinking": {"type": "enabled", "budget_tokens": 1024}},
    ),
}


@pytest.mark.parametrize("name", THINKS)
async def test_how_claude_is_asked_to_think(name: str, sent: Sent) -> None:
    facts, expected = THINKS[name]
    request = ModelRequest("claude-new", (said("Hi"),), thinking="high", temperature=0.5)
    body = await sent(ANTHROPIC, request, models={"claude-new": facts})

    assert {key: body[key] for key in set(body) - COMMON} == expected


@pytest.mark.parametrize(
    ("model", "reasons", "asks"),
    [
        ("gpt-4.1-mini", None, False),
        ("gpt-5", None, True),
        ("gpt-99-new", None, True),
        ("o7", None, True),
        ("gpt-5-chat-latest", None, False),
        ("own", None, False),
        ("own", True, True),
        ("gpt-99-new", False, False),
    ],
)
async def test_only_models_that_reason_are_asked_for_their_reasoning(
    model: str, reasons: bool | None, asks: bool, sent: Sent
) -> None:
    facts = {} if reasons is None else {"models": {model: {"reasons": reasons}}}
    body = await sent(RESPONSES, ModelRequest(model, (said("Hi"),)), provider="openai", **facts)

    assert ("include" in body) == asks


async def test_mistral_gets_short_ids_and_no_user_after_results(sent: Sent) -> None:
    turns = (said("Hi"), answer(call("c1"), call("c2")), result("c1"), result("c2"), said("?"))
    body = await sent(CHAT, asked(*turns), provider="mistral")

    roles = [message["role"] for message in body["messages"]]
    assert roles == ["user", "assistant", "tool", "tool", "assistant", "user"]
    ids = [each["id"] for each in body["messages"][1]["tool_calls"]]
    assert ids == [message["tool_call_id"] for message in body["messages"][2:4]]
    assert len(set(ids)) == 2
    assert all(len(each) == 9 and each.isalnum() for each in ids)


async def test_deepseek_gets_a_field_for_thoughts_in_each_answer(sent: Sent) -> None:
    turns = (said("Hi"), answer(HIS, call("c1"), model="deepseek/m"), result("c1"))
    more = (answer(TextBlock("A"), model="other/m"), said("?"))
    body = await sent(CHAT, asked(*turns, *more), provider="deepseek")

    answers = [message for message in body["messages"] if message["role"] == "assistant"]
    assert [each["reasoning_content"] for each in answers] == ["Hm.", ""]


PATHS = {CHAT: "/v1/chat/completions", RESPONSES: "/v1/responses", ANTHROPIC: "/v1/messages"}


@pytest.mark.parametrize("api", APIS)
async def test_where_a_request_goes_and_with_which_headers(api: str, driver: ModelDriver) -> None:
    async with ToolServer(Read(), Send(response("", status="500 Enough"))) as server:
        await driver.ask(server, api, headers={"X-Own": "1", "User-Agent": "mine"})
        await driver.ask(server, api, key=None)
        keyed, keyless = server.requests

    assert keyed.line == f"POST {PATHS[api]} HTTP/1.1"
    assert (keyed.header("X-Own"), keyed.header("User-Agent")) == ("1", "mine")
    assert keyed.header("Content-Type") == "application/json"
    name, value = ("x-api-key", KEY) if api == ANTHROPIC else ("Authorization", f"Bearer {KEY}")
    assert (keyed.header(name), keyless.header(name)) == (value, None)
    version = "2023-06-01" if api == ANTHROPIC else None
    assert keyed.header("anthropic-version") == version
