"""Thoughts, as they go back to the provider that had them and to nobody else."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from brain_core.content import TextBlock, ThinkingBlock
from brain_testing.model_driver import ANTHROPIC, CHAT, RESPONSES
from brain_testing.model_turns import answer, asked, call, result, said, thought

pytestmark = pytest.mark.requirement("MODEL-01")

Sent = Callable[..., Awaitable[Any]]
APIS = (CHAT, RESPONSES, ANTHROPIC)

HIS = thought("Hm.", api=CHAT, field="reasoning_content")
ITS = thought("", api=CHAT, details=[{"type": "reasoning.encrypted", "data": "x", "index": 0}])
SIGNED = thought("", api=CHAT, calls={"0": {"google": {"thought_signature": "s"}}})
ITEM: dict[str, Any] = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "g"}
NEXT = {**ITEM, "id": "rs_2"}


async def test_thoughts_go_back_to_the_chat_server_that_had_them(sent: Sent) -> None:
    turns = (said("Hi"), answer(HIS, TextBlock("A")), said("?"), answer(call("c"), SIGNED, ITS))
    body = await sent(CHAT, asked(*turns, result("c")))

    first, second = body["messages"][1], body["messages"][3]
    assert first == {"role": "assistant", "content": "A", "reasoning_content": "Hm."}
    assert second["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "s"}}
    assert second["reasoning_details"] == [{"type": "reasoning.encrypted", "data": "x", "index": 0}]


async def test_reasoning_items_go_back_in_their_order(sent: Sent) -> None:
    turns = (
        said("Hi"),
        answer(
            thought("", api=RESPONSES, item=ITEM),
            TextBlock("A"),
            thought("", api=RESPONSES, item=NEXT),
            call("c"),
        ),
        result("c"),
    )
    body = await sent(RESPONSES, asked(*turns, thinking="high"))

    kinds = [item.get("type") or item["role"] for item in body["input"]]
    assert kinds == [
        "user",
        "reasoning",
        "assistant",
        "reasoning",
        "function_call",
        "function_call_output",
    ]
    assert [body["input"][1], body["input"][3]] == [ITEM, NEXT]
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["reasoning"] == {"effort": "high", "summary": "auto"}


async def test_signed_and_redacted_thoughts_go_back_in_their_order(sent: Sent) -> None:
    turns = (
        said("Hi"),
        answer(
            thought("Hm.", api=ANTHROPIC, signature="s1"),
            thought("", api=ANTHROPIC, data="d"),
            ThinkingBlock("Unsigned."),
            TextBlock("A"),
            thought("", api=ANTHROPIC, signature="s2"),
            call("c"),
        ),
        result("c"),
    )
    body = await sent(ANTHROPIC, asked(*turns))

    assert body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "s1"},
        {"type": "redacted_thinking", "data": "d"},
        {"type": "text", "text": "A"},
        {"type": "thinking", "thinking": "", "signature": "s2"},
        {"type": "tool_use", "id": "c", "name": "echo", "input": {"text": "hi"}},
    ]


@pytest.mark.parametrize("api", APIS)
async def test_thoughts_of_others_and_in_other_formats_are_dropped(api: str, sent: Sent) -> None:
    each = (
        thought("SECRET", api=CHAT, field="reasoning"),
        thought("SECRET", api=RESPONSES, item=ITEM),
        thought("SECRET", api=ANTHROPIC, signature="s"),
        thought("SECRET", novel=1),
        ThinkingBlock("SECRET"),
    )
    foreign = [
        thought for thought in each if f'"{api}"'.encode() not in bytes(thought.replay or b"")
    ]
    turns = (
        said("Hi"),
        answer(*each, TextBlock("A"), model="test/other"),
        said("?"),
        answer(*each, TextBlock("A"), model="other/m"),
        said("?"),
        answer(*foreign, TextBlock("A")),
        said("?"),
    )
    body = msgspec.json.encode(await sent(api, asked(*turns)))

    assert b"SECRET" not in body
    assert b"rs_1" not in body


@pytest.mark.parametrize("api", [RESPONSES, ANTHROPIC])
async def test_a_thought_that_nothing_follows_is_dropped(api: str, sent: Sent) -> None:
    last = {
        RESPONSES: thought("SECRET", api=RESPONSES, item=ITEM),
        ANTHROPIC: thought("SECRET", api=ANTHROPIC, signature="s"),
    }[api]
    turns = (said("Hi"), answer(TextBlock("A"), last), said("?"), answer(last), said("?"))
    body = msgspec.json.encode(await sent(api, asked(*turns)))

    assert b"SECRET" not in body
    assert b"rs_1" not in body
