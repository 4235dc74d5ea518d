# ruff: noqa: E501 (what a provider sends stays on one line)
"""Answers in Anthropic's Messages format, with the quirks of those who imitate it."""

import pytest

from brain.engine.model.protocol import Answer, RequestedCall
from brain_core.content import TextBlock, ThinkingBlock
from brain_core.usage import Usage
from brain_testing.desk import within
from brain_testing.model_driver import ANTHROPIC, ModelDriver
from brain_testing.model_turns import asked, replay_of
from brain_testing.raw_script import Close, Read, Send, UntilGone, head, streams
from brain_testing.tool_server import ToolServer

pytestmark = pytest.mark.requirement("MODEL-01")


def event(kind: str, fields: str = "") -> str:
    """An event as Anthropic's documentation shows it."""
    return f'event: {kind}\ndata: {{"type": "{kind}"{", " if fields else ""}{fields}}}\n\n'


def begin(index: int, block: str) -> str:
    return event("content_block_start", f'"index": {index}, "content_block": {{{block}}}')


def piece(index: int, kind: str, field: str, text: str) -> str:
    return event(
        "content_block_delta",
        f'"index": {index}, "delta": {{"type": "{kind}", "{field}": "{text}"}}',
    )


def stop(index: int) -> str:
    return event("content_block_stop", f'"index": {index}')


def end(reason: str, usage: str = '"output_tokens": 20', details: str = "null") -> str:
    return event(
        "message_delta",
        f'"delta": {{"stop_reason": "{reason}", "stop_sequence": null, "stop_details": {details}}}, "usage": {{{usage}}}',
    ) + event("message_stop")


def start(usage: str = '"input_tokens": 100, "output_tokens": 1') -> str:
    return event(
        "message_start",
        f'"message": {{"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m", "stop_reason": null, "stop_sequence": null, "usage": {{{usage}}}}}',
    )


# fmt: off
PING = event("ping")
START = start()
USED = Usage(100, 20)
TEXT = begin(0, '"type": "text", "text": ""') + PING + piece(0, "text_delta", "text", "H") + piece(0, "text_delta", "text", "i") + stop(0)
HI = (TextBlock("Hi"),)


def call(index: int, name: str, *pieces: str) -> str:
    return begin(index, f'"type": "tool_use", "id": "toolu_{index}", "name": "{name}", "input": {{}}') + "".join(piece(index, "input_json_delta", "partial_json", text) for text in pieces) + stop(index)


A, B = RequestedCall("a", '{"x":1}'), RequestedCall("b", '{"y":2}')
CALLS = call(1, "a", "", '{\\"x\\"', ":1}") + call(2, "b", '{\\"y\\":2}')

ANSWERS = {
    "text": (START + TEXT + end("end_turn"), Answer(HI, "end_turn", USED)),
    "without pings": ((START + TEXT + end("end_turn")).replace(PING, ""), Answer(HI, "end_turn", USED)),
    "text in the block's beginning": (START + begin(0, '"type": "text", "text": "Hi"') + stop(0) + end("end_turn"), Answer(HI, "end_turn", USED)),
    "two texts": (START + TEXT + TEXT.replace('"index": 0', '"index": 1') + end("end_turn"), Answer((*HI, *HI), "end_turn", USED)),
    "an empty answer": (START + end("end_turn"), Answer((), "end_turn", USED)),
    "a stop sequence": (START + TEXT + end("stop_sequence"), Answer(HI, "end_turn", USED)),
    "a pause is an end, since Brain asks for nothing that pauses": (START + TEXT + end("pause_turn"), Answer(HI, "end_turn", USED)),
    "a reason that is new": (START + TEXT + end("novel"), Answer(HI, "end_turn", USED)),
    "cut off by length": (START + TEXT + end("max_tokens"), Answer(HI, "length", USED)),
    "cut off by the window": (START + TEXT + end("model_context_window_exceeded"), Answer(HI, "length", USED)),
    "no message_stop": (START + TEXT + end("end_turn").replace(event("message_stop"), ""), Answer(HI, "end_turn", USED)),
    "no reason, but message_stop": (START + TEXT + event("message_stop"), Answer(HI, "end_turn", Usage(100, 1))),
    "calls": (START + TEXT + CALLS + end("tool_use"), Answer((*HI, A, B), "tool_calls", USED)),
    "calls that end the turn": (START + CALLS + end("end_turn"), Answer((A, B), "tool_calls", USED)),
    "calls interleaved": (START + begin(0, '"type": "tool_use", "id": "x", "name": "a", "input": {}') + begin(1, '"type": "tool_use", "id": "y", "name": "b", "input": {}') + piece(1, "input_json_delta", "partial_json", '{\\"y\\"') + piece(0, "input_json_delta", "partial_json", '{\\"x\\":1}') + piece(1, "input_json_delta", "partial_json", ":2}") + stop(0) + stop(1) + end("tool_use"), Answer((A, B), "tool_calls", USED)),
    "a call without arguments": (START + call(0, "a", "") + call(1, "b") + end("tool_use"), Answer((RequestedCall("a", "{}"), RequestedCall("b", "{}")), "tool_calls", USED)),
    "a call's whole input in its beginning": (START + begin(0, '"type": "tool_use", "id": "x", "name": "a", "input": {"x": 1}') + stop(0) + end("tool_use"), Answer((A,), "tool_calls", USED)),
    "an input said at the beginning and in pieces": (START + begin(0, '"type": "tool_use", "id": "x", "name": "a", "input": {"x": 1}') + piece(0, "input_json_delta", "partial_json", '{\\"x\\":1}') + stop(0) + end("tool_use"), Answer((A,), "tool_calls", USED)),
    "arguments that are no JSON": (START + call(0, "a", "x = 1") + end("tool_use"), Answer((RequestedCall("a", "x = 1"),), "tool_calls", USED)),
    "a call cut off": (START + call(0, "a", '{\\"x') + end("max_tokens"), Answer((RequestedCall("a", '{"x'),), "length", USED)),
    "unknown events, blocks and pieces": (START + event("novel", '"index": "x"') .replace('"x"', "9") + begin(5, '"type": "novel", "content": [1]') + piece(5, "novel_delta", "novel", "x") + stop(5) + begin(0, '"type": "text", "text": "", "citations": null') + event("content_block_delta", '"index": 0, "delta": {"type": "citations_delta", "citation": {"type": "char_location"}}') + piece(0, "text_delta", "text", "Hi") + stop(0) + end("end_turn"), Answer(HI, "end_turn", USED)),
    "CRLF": ((START + TEXT + end("end_turn")).replace("\n", "\r\n"), Answer(HI, "end_turn", USED)),
    "without names of events": ((START + TEXT + end("end_turn")).replace("event:", "id:"), Answer(HI, "end_turn", USED)),
}

USAGES = {
    "counts": (START + TEXT + end("end_turn"), USED),
    "the cache": (start('"input_tokens": 10, "cache_creation_input_tokens": 30, "cache_read_input_tokens": 60, "output_tokens": 1') + end("end_turn"), Usage(10, 20, 60, 30)),
    "zeros are known": (start('"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1') + end("end_turn"), Usage(10, 20, 0, 0)),
    "all said again at the end": (start() + end("end_turn", '"input_tokens": 11, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 90, "output_tokens": 20, "output_tokens_details": {"thinking_tokens": 12}'), Usage(11, 20, 90, 0, 12)),
    "nulls at the end change nothing": (start() + end("end_turn", '"input_tokens": null, "cache_read_input_tokens": null, "output_tokens": 20'), USED),
    "new fields": (start('"input_tokens": 100, "output_tokens": 1, "cache_creation": {"ephemeral_5m_input_tokens": 0}, "service_tier": "standard", "server_tool_use": null') + end("end_turn"), USED),
    "none": (event("message_start", '"message": {}') + event("message_delta", '"delta": {"stop_reason": "end_turn"}') + event("message_stop"), Usage()),
}
# fmt: on


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer(name: str, driver: ModelDriver) -> None:
    text, answer = ANSWERS[name]
    async with ToolServer(*streams(text.encode())) as server:
        heard = await driver.ask(server, ANTHROPIC)

    assert heard.answer == answer
    assert heard.text() == "".join(b.text for b in answer.blocks if isinstance(b, TextBlock))


@pytest.mark.parametrize("piece", [1, 2, 5])
async def test_bytes_may_be_cut_anywhere_even_in_a_letter(piece: int, driver: ModelDriver) -> None:
    text = (START + TEXT + end("end_turn")).replace('"H"', '"Grüße 👋 "')
    async with ToolServer(*streams(text.encode(), piece=piece)) as server:
        heard = await driver.ask(server, ANTHROPIC)

    assert heard.answer == Answer((TextBlock("Grüße 👋 i"),), "end_turn", USED)


async def test_thoughts_are_shown_and_kept_with_their_signatures(driver: ModelDriver) -> None:
    text = (
        START
        + begin(0, '"type": "thinking", "thinking": "", "signature": ""')
        + piece(0, "thinking_delta", "thinking", "Let me ")
        + piece(0, "thinking_delta", "thinking", "see.")
        + piece(0, "signature_delta", "signature", "EqQB")
        + piece(0, "signature_delta", "signature", "Cg==")
        + stop(0)
        + begin(1, '"type": "redacted_thinking", "data": "EmwKAhgB"')
        + stop(1)
        + begin(2, '"type": "thinking", "thinking": "", "signature": "Omit=="')
        + stop(2)
        + TEXT.replace('"index": 0', '"index": 3')
        + end("end_turn")
    )
    async with ToolServer(*streams(text.encode())) as server:
        heard = await driver.ask(server, ANTHROPIC)

    *thoughts, said = heard.answer.blocks
    assert said == TextBlock("Hi")
    kept = [(t.text, replay_of(t)) for t in thoughts if isinstance(t, ThinkingBlock)]
    assert kept == [
        ("Let me see.", {"api": "anthropic-messages", "signature": "EqQBCg=="}),
        ("", {"api": "anthropic-messages", "data": "EmwKAhgB"}),
        ("", {"api": "anthropic-messages", "signature": "Omit=="}),
    ]
    assert heard.text("thinking") == "Let me see."


@pytest.mark.requirement("MODEL-04")
@pytest.mark.parametrize("name", USAGES)
async def test_usage(name: str, driver: ModelDriver) -> None:
    text, usage = USAGES[name]
    async with ToolServer(*streams(text.encode())) as server:
        assert (await driver.ask(server, ANTHROPIC)).answer.usage == usage


@pytest.mark.requirement("MODEL-04")
async def test_usage_is_known_as_soon_as_it_is_said(driver: ModelDriver) -> None:
    sent = (START + TEXT).encode()
    async with ToolServer(
        Read(), Send(head("text/event-stream", "Connection: close") + sent), UntilGone()
    ) as server:
        stream = driver.model(server, ANTHROPIC).stream(asked())
        first = await within(anext(stream))
        await stream.aclose()

    assert first.usage == Usage(100, 1)


@pytest.mark.requirement("MODEL-04")
async def test_a_failed_call_has_the_usage_that_is_known(driver: ModelDriver) -> None:
    error = event("error", '"error": {"type": "overloaded_error", "message": "Overloaded"}')
    for rest, code in ((error, "overloaded"), ("", "connection_lost")):
        script = (*streams((START + TEXT + rest).encode())[:-1], Close())
        async with ToolServer(*script) as server:
            failure = (await driver.ask(server, ANTHROPIC)).failure
        assert (failure.code, failure.usage) == (code, Usage(100, 1))


async def test_a_refusal_is_said_with_its_reason(driver: ModelDriver) -> None:
    why = '{"type": "refusal", "category": "cyber", "explanation": "This looks like an exploit."}'
    for details, said in ((why, " It said: This looks like an exploit."), ("null", "")):
        async with ToolServer(
            *streams((START + TEXT + end("refusal", details=details)).encode())
        ) as server:
            failure = (await driver.ask(server, ANTHROPIC)).failure
        assert (failure.code, failure.transient, failure.usage) == ("content_refused", False, USED)
        assert failure.message == f"The model's provider refused this content.{said}"
