"""What a conversation looks like in each format, and that the official SDKs' types take it."""

import base64
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from brain.engine.model.protocol import Turn, UserTurn
from brain_core.content import ImageBlock, TextBlock
from brain_testing.model_driver import ANTHROPIC, CHAT, RESPONSES
from brain_testing.model_turns import PNG, TOOL, answer, asked, call, result, said

pytestmark = pytest.mark.requirement("MODEL-01")

Sent = Callable[..., Awaitable[Any]]
APIS = (CHAT, RESPONSES, ANTHROPIC)
MARK = {"type": "ephemeral"}
URL = "data:image/png;base64,iVBORw0KGgo="

BATCH: tuple[Turn, ...] = (
    said("Look."),
    answer(TextBlock("I do."), call("c1"), call("c2", "{}")),
    result("c1", TextBlock("one"), PNG),
    result("c2", TextBlock("no"), is_error=True),
    said("Go on."),
)


CHAT_BODY: dict[str, Any] = {
    "model": "m",
    "stream": True,
    "stream_options": {"include_usage": True},
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "echo",
                "description": "Says it again.",
                "parameters": {"type": "object"},
            },
        }
    ],
    "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Look."},
        {
            "role": "assistant",
            "content": "I do.",
            "tool_calls": [
                {
                    "type": "function",
                    "id": "c1",
                    "function": {"name": "echo", "arguments": '{"text":"hi"}'},
                },
                {
                    "type": "function",
                    "id": "c2",
                    "function": {"name": "echo", "arguments": "{}"},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "Error: no"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Images in the result of echo:"},
                {"type": "image_url", "image_url": {"url": URL}},
                {"type": "text", "text": "Go on."},
            ],
        },
    ],
}

RESPONSES_BODY: dict[str, Any] = {
    "model": "m",
    "stream": True,
    "store": False,
    "instructions": "Be kind.",
    "tools": [
        {
            "type": "function",
            "name": "echo",
            "description": "Says it again.",
            "parameters": {"type": "object"},
            "strict": False,
        }
    ],
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Look."}]},
        {"role": "assistant", "content": "I do."},
        {
            "type": "function_call",
            "call_id": "c1",
            "name": "echo",
            "arguments": '{"text":"hi"}',
        },
        {"type": "function_call", "call_id": "c2", "name": "echo", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": [
                {"type": "input_text", "text": "one"},
                {"type": "input_image", "image_url": URL, "detail": "auto"},
            ],
        },
        {"type": "function_call_output", "call_id": "c2", "output": "Error:\nno"},
        {"role": "user", "content": [{"type": "input_text", "text": "Go on."}]},
    ],
}

ANTHROPIC_BODY: dict[str, Any] = {
    "model": "m",
    "max_tokens": 8192,
    "stream": True,
    "system": [{"type": "text", "text": "Be kind.", "cache_control": MARK}],
    "tools": [
        {
            "name": "echo",
            "description": "Says it again.",
            "input_schema": {"type": "object"},
            "cache_control": MARK,
        }
    ],
    "messages": [
        {
            "role": "user",
            "content": [{"type": "text", "text": "Look.", "cache_control": MARK}],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I do."},
                {"type": "tool_use", "id": "c1", "name": "echo", "input": {"text": "hi"}},
                {"type": "tool_use", "id": "c2", "name": "echo", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [
                        {"type": "text", "text": "one"},
                        {
                            "type": "image",
                            "source": {
                                "type": "base64",
                                "media_type": "image/png",
                                "data": "iVBORw0KGgo=",
                            },
                        },
                    ],
                },
                {
                    "type": "tool_result",
                    "tool_use_id": "c2",
                    "content": [{"type": "text", "text": "no"}],
                    "is_error": True,
                },
                {"type": "text", "text": "Go on.", "cache_control": MARK},
            ],
        },
    ],
}

BODIES = {CHAT: CHAT_BODY, RESPONSES: RESPONSES_BODY, ANTHROPIC: ANTHROPIC_BODY}


@pytest.mark.parametrize("api", APIS)
async def test_a_batch_of_calls_with_an_image_in_a_result(api: str, sent: Sent) -> None:
    request = asked(*BATCH, system_prompt="Be kind.", tools=(TOOL,))

    assert await sent(api, request) == BODIES[api]


@pytest.mark.parametrize("turns", [1, 2, 5, 40])
async def test_anthropic_is_given_at_most_four_marks(turns: int, sent: Sent) -> None:
    talk = [turn for n in range(turns) for turn in (said(f"{n}"), answer(TextBlock("Yes.")))]
    request = asked(*talk, said("Go on."), system_prompt="Be kind.", tools=(TOOL, TOOL, TOOL))
    body = await sent(ANTHROPIC, request)

    assert msgspec.json.encode(body).count(b"cache_control") == 4
    assert "cache_control" in body["messages"][-1]["content"][-1]
    assert "cache_control" in body["messages"][-3]["content"][-1]


@pytest.mark.parametrize("api", APIS)
async def test_an_image_of_the_user(api: str, sent: Sent) -> None:
    body = await sent(api, asked(UserTurn((TextBlock("See."), PNG))))

    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    expected = {
        CHAT: {"type": "image_url", "image_url": {"url": URL}},
        RESPONSES: {"type": "input_image", "image_url": URL, "detail": "auto"},
        ANTHROPIC: {"type": "image", "source": source, "cache_control": {"type": "ephemeral"}},
    }
    message = (body.get("messages") or body["input"])[0]
    assert message["role"] == "user"
    assert message["content"][1] == expected[api]


@pytest.mark.parametrize("api", APIS)
async def test_an_image_that_no_model_takes_is_told(api: str, sent: Sent) -> None:
    request = asked(UserTurn((ImageBlock("PHN2Zz4=", "image/svg+xml"),)))
    blind = {"m": {"sees_images": False}}
    for image, how in ((request, {}), (asked(UserTurn((PNG,))), {"models": blind})):
        body = msgspec.json.encode(await sent(api, image, **how))
        assert b"which this model can't see]" in body
        assert b"iVBORw0KGgo=" not in body
        assert b"PHN2Zz4=" not in body


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("start", "real"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\x24\x00\x00\x00WEBPVP8 ", "image/webp"),
    ],
)
async def test_an_image_goes_by_what_it_is_and_not_by_what_it_is_called(
    api: str, start: bytes, real: str, sent: Sent
) -> None:
    data = base64.b64encode(start).decode()
    body = await sent(api, asked(UserTurn((TextBlock("See."), ImageBlock(data, "image/jpg")))))

    wanted = {"type": "base64", "media_type": real, "data": data}
    url = f"data:{real};base64,{data}"
    part = (body.get("messages") or body["input"])[0]["content"][1]
    assert wanted == part["source"] if api == ANTHROPIC else url in str(part["image_url"])


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("data", ["", "AA==", "bm90aGluZyBvZiB0aGUga2luZA==", "UklGRiQAAABBVkkg"])
async def test_what_is_called_an_image_and_is_none_is_told(api: str, data: str, sent: Sent) -> None:
    body = await sent(api, asked(UserTurn((ImageBlock(data, "image/png"),))))

    assert "an image of type image/png, which this model can't see" in str(body)


async def test_anthropic_is_shown_an_image_of_a_failed_call_without_the_flag(sent: Sent) -> None:
    """A result with the flag may have nothing but text there."""
    turns = (said("Hi"), answer(call("c1")), result("c1", TextBlock("no"), PNG, is_error=True))
    body = await sent(ANTHROPIC, asked(*turns))

    told = body["messages"][-1]["content"][0]
    assert "is_error" not in told
    assert [part["type"] for part in told["content"]] == ["text", "text", "image"]
    assert told["content"][0]["text"] == "Error:"


@pytest.mark.parametrize("api", APIS)
async def test_what_models_and_tools_leave_empty_is_filled_or_left_out(
    api: str, sent: Sent
) -> None:
    empty = TextBlock("")
    body = await sent(
        api,
        asked(
            said(""),
            answer(empty, call("c1", '"x = 1"', "no such tool!"), call("c2", "{}", "")),
            result("c1", empty),
            result("c2", PNG),
            answer(empty),
            answer(),
            said("Go on."),
            system_prompt="",
        ),
    )

    text = msgspec.json.encode(body).decode()
    assert '""' not in text
    assert "no_such_tool_" in text
    assert "unnamed" in text
    assert "arguments_as_written" in text
    assert "(no text)" in text
    assert not {"system", "instructions", "tools", "temperature"} & set(body)
    roles = [item.get("role") or item["type"] for item in body.get("messages") or body["input"]]
    assert (
        roles
        == {
            CHAT: ["user", "assistant", "tool", "tool", "user"],
            RESPONSES: [
                "user",
                *["function_call"] * 2,
                *["function_call_output"] * 2,
                "user",
            ],
            ANTHROPIC: ["user", "assistant", "user"],
        }[api]
    )
