# ruff: noqa: E501 (what a provider sends stays on one line)
"""Answers in OpenAI's Responses format, with the quirks of those who imitate it."""

import pytest

from brain.engine.model.protocol import Answer, RequestedCall
from brain_core.content import TextBlock, ThinkingBlock
from brain_core.usage import Usage
from brain_testing.model_driver import RESPONSES, ModelDriver
from brain_testing.model_turns import replay_of
from brain_testing.raw_script import streams
from brain_testing.tool_server import ToolServer

pytestmark = pytest.mark.requirement("MODEL-01")


def event(kind: str, fields: str = "") -> str:
    """An event as OpenAI's reference shows it: its type stands in the data, too."""
    return f'event: {kind}\ndata: {{"type":"{kind}","sequence_number":1{"," if fields else ""}{fields}}}\n\n'


def added(index: int, item: str) -> str:
    return event("response.output_item.added", f'"output_index":{index},"item":{item}')


def done(index: int, item: str) -> str:
    return event("response.output_item.done", f'"output_index":{index},"item":{item}')


def piece(kind: str, index: int, text: str) -> str:
    return event(
        f"response.{kind}.delta",
        f'"item_id":"x","output_index":{index},"content_index":0,"delta":"{text}"',
    )


def ended(kind: str = "completed", fields: str = '"output":[],"usage":null') -> str:
    return event(
        f"response.{kind}",
        f'"response":{{"id":"resp_1","object":"response","status":"{kind}","error":null,{fields}}}',
    )


# fmt: off
CREATED = event("response.created", '"response":{"id":"resp_1","status":"in_progress","output":[],"usage":null}') + event("response.in_progress", '"response":{"id":"resp_1","status":"in_progress","output":[]}')
MESSAGE = '{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}'
SAID = '{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hi","annotations":[]}]}'
TEXT = added(0, MESSAGE) + event("response.content_part.added", '"output_index":0,"part":{"type":"output_text","text":""}') + piece("output_text", 0, "H") + piece("output_text", 0, "i") + event("response.output_text.done", '"output_index":0,"text":"Hi"') + done(0, SAID)
CALL_A = '{"id":"fc_1","type":"function_call","status":"completed","name":"a","call_id":"call_1","arguments":"{\\"x\\":1}"}'
CALL_B = '{"id":"fc_2","type":"function_call","status":"completed","name":"b","call_id":"call_2","arguments":"{\\"y\\":2}"}'
BEGUN_A = CALL_A.replace('{\\"x\\":1}', "")
BEGUN_B = CALL_B.replace('{\\"y\\":2}', "")
THOUGHT = '{"id":"rs_1","type":"reasoning","status":"completed","summary":[{"type":"summary_text","text":"One."},{"type":"summary_text","text":"Two."}],"encrypted_content":"gAAAA="}'
BEGUN_THOUGHT = '{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAA"}'
HI = (TextBlock("Hi"),)
A, B = RequestedCall("a", '{"x":1}'), RequestedCall("b", '{"y":2}')

ANSWERS = {
    "text": (CREATED + TEXT + ended(), Answer(HI, "end_turn", Usage())),
    "text only as a whole item": (CREATED + done(0, SAID) + ended(), Answer(HI, "end_turn", Usage())),
    "text only at the end": (CREATED + ended(fields=f'"output":[{SAID}]'), Answer(HI, "end_turn", Usage())),
    "text once, though said three times": (CREATED + TEXT + ended(fields=f'"output":[{SAID}]'), Answer(HI, "end_turn", Usage())),
    "pieces of an item that never began": (piece("output_text", 0, "Hi") + ended(), Answer(HI, "end_turn", Usage())),
    "every item with the index 0": (added(0, MESSAGE) + piece("output_text", 0, "Hi") + done(0, SAID) + added(0, BEGUN_A) + piece("function_call_arguments", 0, '{\\"x\\":1}') + ended(fields=f'"output":[{SAID},{CALL_A}]'), Answer((*HI, A), "tool_calls", Usage())),
    "unknown events and items": (CREATED + event("response.novel.delta", '"output_index":0,"delta":"x"') + event("keepalive") + added(0, '{"type":"web_search_call","id":"ws_1"}') + done(0, '{"type":"web_search_call","id":"ws_1"}') + TEXT.replace('"output_index":0', '"output_index":1') + ended(), Answer(HI, "end_turn", Usage())),
    "deltas of unknown kinds": (CREATED + event("response.novel", '"delta":{"a":1}') + TEXT + ended(), Answer(HI, "end_turn", Usage())),
    "a refusal is what the model says": (CREATED + added(0, MESSAGE) + piece("refusal", 0, "I can't.") + ended(), Answer((TextBlock("I can't."),), "end_turn", Usage())),
    "a refusal only as a whole": (CREATED + done(0, SAID.replace('"type":"output_text","text":"Hi"', '"type":"refusal","refusal":"No."')) + ended(), Answer((TextBlock("No."),), "end_turn", Usage())),
    "cut off": (CREATED + TEXT + ended("incomplete", '"incomplete_details":{"reason":"max_output_tokens"},"output":[]'), Answer(HI, "length", Usage())),
    "an empty answer": (CREATED + ended(), Answer((), "end_turn", Usage())),
    "[DONE] after the end": (CREATED + TEXT + ended() + "data: [DONE]\n\n", Answer(HI, "end_turn", Usage())),
    "without names of events": (CREATED + TEXT.replace("event: ", "id: ") + ended(), Answer(HI, "end_turn", Usage())),
    "a call": (CREATED + added(0, BEGUN_A) + piece("function_call_arguments", 0, '{\\"x\\"') + piece("function_call_arguments", 0, ":1}") + event("response.function_call_arguments.done", '"output_index":0,"arguments":"{\\"x\\":1}"') + done(0, CALL_A) + ended(), Answer((A,), "tool_calls", Usage())),
    "a call only as a whole item": (CREATED + done(0, CALL_A) + ended(), Answer((A,), "tool_calls", Usage())),
    "calls interleaved": (CREATED + added(0, BEGUN_A) + added(1, BEGUN_B) + piece("function_call_arguments", 1, '{\\"y\\"') + piece("function_call_arguments", 0, '{\\"x\\":1}') + piece("function_call_arguments", 1, ":2}") + done(1, CALL_B) + done(0, CALL_A) + ended(), Answer((A, B), "tool_calls", Usage())),
    "a call without arguments": (CREATED + added(0, BEGUN_A) + done(0, BEGUN_A) + ended(), Answer((RequestedCall("a", "{}"),), "tool_calls", Usage())),
    "arguments that are no JSON": (CREATED + added(0, BEGUN_A) + piece("function_call_arguments", 0, "x = 1") + ended(), Answer((RequestedCall("a", "x = 1"),), "tool_calls", Usage())),
    "a call cut off": (CREATED + added(0, BEGUN_A) + piece("function_call_arguments", 0, '{\\"x') + ended("incomplete", '"incomplete_details":{"reason":"max_output_tokens"},"output":[]'), Answer((RequestedCall("a", '{"x'),), "length", Usage())),
    "text and a call": (CREATED + TEXT + added(1, BEGUN_A) + piece("function_call_arguments", 1, '{\\"x\\":1}') + ended(), Answer((*HI, A), "tool_calls", Usage())),
}

U = '"input_tokens":100,"output_tokens":20,"total_tokens":120'
USAGES = {
    "counts": ("{" + U + "}", Usage(100, 20)),
    "cached and reasoning tokens": ("{" + U + ',"input_tokens_details":{"cached_tokens":60},"output_tokens_details":{"reasoning_tokens":12}}', Usage(40, 20, 60, None, 12)),
    "tokens written to the cache": ("{" + U + ',"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}}', Usage(10, 20, 60, 30)),
    "none": ("null", Usage()),
}
# fmt: on


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer(name: str, driver: ModelDriver) -> None:
    text, answer = ANSWERS[name]
    async with ToolServer(*streams(text.encode())) as server:
        heard = await driver.ask(server, RESPONSES)

    assert heard.answer == answer
    assert heard.text() == "".join(b.text for b in answer.blocks if isinstance(b, TextBlock))


async def test_a_thought_is_shown_and_kept_as_the_provider_wants_it_back(
    driver: ModelDriver,
) -> None:
    part = event("response.reasoning_summary_part.added", '"output_index":0,"summary_index":{}')
    text = (
        CREATED
        + added(0, BEGUN_THOUGHT)
        + part.replace("{}", "0")
        + piece("reasoning_summary_text", 0, "One.")
        + part.replace("{}", "1")
        + piece("reasoning_summary_text", 0, "Two.")
        + done(0, THOUGHT)
        + TEXT.replace('"output_index":0', '"output_index":1')
        + ended()
    )
    async with ToolServer(*streams(text.encode())) as server:
        heard = await driver.ask(server, RESPONSES)

    thought, said = heard.answer.blocks
    assert isinstance(thought, ThinkingBlock)
    assert (thought.text, said) == ("One.\n\nTwo.", TextBlock("Hi"))
    assert heard.text("thinking") == "One.\n\nTwo."
    assert replay_of(thought) == {
        "api": "openai-responses",
        "item": {
            "id": "rs_1",
            "type": "reasoning",
            "summary": [
                {"type": "summary_text", "text": "One."},
                {"type": "summary_text", "text": "Two."},
            ],
            "encrypted_content": "gAAAA=",
        },
    }


async def test_a_thought_without_a_word_is_kept(driver: ModelDriver) -> None:
    silent = '{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAAA="}'
    text = CREATED + added(0, silent) + done(0, silent) + done(1, CALL_A) + ended()
    async with ToolServer(*streams(text.encode())) as server:
        heard = await driver.ask(server, RESPONSES)

    thought, call = heard.answer.blocks
    assert isinstance(thought, ThinkingBlock)
    assert (thought.text, call, heard.text("thinking")) == ("", A, "")


@pytest.mark.requirement("MODEL-04")
@pytest.mark.parametrize("name", USAGES)
@pytest.mark.parametrize("kind", ["completed", "incomplete", "failed"])
async def test_usage_is_known_however_the_answer_ended(
    kind: str, name: str, driver: ModelDriver
) -> None:
    text, usage = USAGES[name]
    sent = CREATED + TEXT + ended(kind, f'"output":[],"usage":{text}')
    async with ToolServer(*streams(sent.encode())) as server:
        heard = await driver.ask(server, RESPONSES)

    assert heard.ended is not None
    assert heard.ended.usage == usage


@pytest.mark.requirement("LOOP-03")
@pytest.mark.parametrize("sent", ["", CREATED, CREATED + TEXT, CREATED + TEXT + "data: [DONE]\n\n"])
async def test_an_answer_without_its_end_is_a_lost_connection(
    sent: str, driver: ModelDriver
) -> None:
    async with ToolServer(*streams(sent.encode())) as server:
        failure = (await driver.ask(server, RESPONSES)).failure

    assert (failure.code, failure.transient) == ("connection_lost", True)
