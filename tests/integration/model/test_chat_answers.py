"""Answers in OpenAI's chat completions format, with the quirks of those who imitate it."""

from typing import Literal

import pytest

from brain.engine.model.protocol import Answer, AnswerBlock, RequestedCall
from brain_core.content import TextBlock, ThinkingBlock
from brain_core.usage import Usage
from brain_testing.model_driver import ModelDriver
from brain_testing.raw_script import streams
from brain_testing.tool_server import ToolServer

pytestmark = pytest.mark.requirement("MODEL-01")

DONE = "data: [DONE]\n\n"
STOP = '{"index":0,"delta":{},"finish_reason":"stop"}'
CALLED = '{"index":0,"delta":{},"finish_reason":"tool_calls"}'
HI = (TextBlock("Hi"),)
A_B = (RequestedCall("a", '{"x":1}'), RequestedCall("b", '{"y":2}'))
NONE = Usage()


def chunk(*choices: str, rest: str = "") -> str:
    """An event as OpenAI's reference shows it, with these choices."""
    return (
        'data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,'
        f'"model":"m","system_fingerprint":"fp_44709d6fcb","choices":[{",".join(choices)}]{rest}}}\n\n'
    )


def delta(fields: str, index: int = 0) -> str:
    """An event with a piece of the message."""
    return chunk(f'{{"index":{index},"delta":{{{fields}}},"logprobs":null,"finish_reason":null}}')


def call(fields: str) -> str:
    """An event with a piece of a call."""
    return delta(f'"tool_calls":[{{{fields}}}]')


def usage(fields: str) -> str:
    """The event after the last choice, which has what was used."""
    return chunk(rest=f',"usage":{{{fields}}}')


FIRST = delta('"role":"assistant","content":""')
SAYS_HI = FIRST + delta('"content":"H"') + delta('"content":"i"') + chunk(STOP)

Expected = tuple[str, tuple[AnswerBlock, ...], Literal["end_turn", "length"]]

ANSWERS: dict[str, Expected] = {
    "text": (SAYS_HI + DONE, HI, "end_turn"),
    "content is null": (
        delta('"role":"assistant","content":null') + delta('"content":"Hi"') + chunk(STOP) + DONE,
        HI,
        "end_turn",
    ),
    "an empty answer": (FIRST + chunk(STOP) + DONE, (), "end_turn"),
    "no [DONE], and a reason to finish": (SAYS_HI, HI, "end_turn"),
    "[DONE], and no reason to finish": (delta('"content":"Hi"') + DONE, HI, "end_turn"),
    "[DONE] without its empty line": (SAYS_HI + "data: [DONE]", HI, "end_turn"),
    "the last event without its empty line": (SAYS_HI.rstrip("\n"), HI, "end_turn"),
    "no space after the colon": (SAYS_HI.replace("data: ", "data:") + DONE, HI, "end_turn"),
    "CRLF": ((SAYS_HI + DONE).replace("\n", "\r\n"), HI, "end_turn"),
    "CR alone": ((SAYS_HI + DONE).replace("\n", "\r"), HI, "end_turn"),
    "a byte order mark": ("\ufeff" + SAYS_HI + DONE, HI, "end_turn"),
    "comments that keep the connection alive": (
        ": OPENROUTER PROCESSING\n\n" + SAYS_HI.replace("data:", ":\n\n: ping\ndata:") + DONE,
        HI,
        "end_turn",
    ),
    "names, ids and retry times": (
        "retry: 10\nid: 7\nevent: message\n" + SAYS_HI + DONE,
        HI,
        "end_turn",
    ),
    "data over several lines": (
        'data: {"choices":\ndata: [{"index":0,"delta":{"content":"Hi"},\n'
        'data: "finish_reason":"stop"}]}\n\n' + DONE,
        HI,
        "end_turn",
    ),
    "no choices, as of Azure's filter": (
        'data: {"choices":[],"prompt_filter_results":[{"prompt_index":0}]}\n\n' + SAYS_HI + DONE,
        HI,
        "end_turn",
    ),
    "choices are null, or missing": (
        'data: {"choices":null}\n\ndata: {"id":"x"}\n\n' + SAYS_HI + DONE,
        HI,
        "end_turn",
    ),
    "a choice without a delta": (
        chunk('{"index":0,"finish_reason":null}') + SAYS_HI + DONE,
        HI,
        "end_turn",
    ),
    "another choice is not read": (SAYS_HI + delta('"content":"!"', 1) + DONE, HI, "end_turn"),
    "unknown fields": (
        delta('"content":"Hi","novel":{"a":[1]},"audio":{"id":"x"}')
        + chunk(STOP, rest=',"obfuscation":"x","service_tier":"default","moderation":null')
        + DONE,
        HI,
        "end_turn",
    ),
    "a refusal is what the model says": (
        delta('"role":"assistant","content":null,"refusal":"I can\'t"')
        + delta('"refusal":" help."')
        + chunk(STOP)
        + DONE,
        (TextBlock("I can't help."),),
        "end_turn",
    ),
    "cut off by length": (
        delta('"content":"Hi"') + chunk(STOP.replace("stop", "length")) + DONE,
        HI,
        "length",
    ),
    "cut off in a call": (
        call('"index":0,"id":"c1","type":"function","function":{"name":"a","arguments":"{\\"x"}')
        + chunk(STOP.replace("stop", "length"))
        + DONE,
        (RequestedCall("a", '{"x'),),
        "length",
    ),
}

CALLS = {
    "in pieces": (
        call('"index":0,"id":"c1","type":"function","function":{"name":"a","arguments":""}')
        + call('"index":0,"function":{"arguments":"{\\"x\\""}')
        + call('"index":0,"function":{"arguments":":1}"}')
        + call('"index":1,"id":"c2","type":"function","function":{"name":"b","arguments":""}')
        + call('"index":1,"function":{"arguments":"{\\"y\\":2}"}'),
        A_B,
    ),
    "interleaved by index": (
        call('"index":0,"id":"c1","function":{"name":"a","arguments":"{\\"x"}')
        + call('"index":1,"id":"c2","function":{"name":"b","arguments":"{\\"y"}')
        + call('"index":0,"function":{"arguments":"\\":1}"}')
        + call('"index":1,"function":{"arguments":"\\":2}"}'),
        A_B,
    ),
    "two in one event": (
        delta(
            '"tool_calls":[{"index":0,"id":"c1","function":{"name":"a","arguments":"{\\"x\\":1}"}},'
            '{"index":1,"id":"c2","function":{"name":"b","arguments":"{\\"y\\":2}"}}]'
        ),
        A_B,
    ),
    "without ids": (
        call('"index":0,"function":{"name":"a","arguments":"{\\"x\\":1}"}')
        + call('"index":1,"function":{"name":"b","arguments":"{\\"y\\":2}"}'),
        A_B,
    ),
    "id and name said again with each piece": (
        call('"index":0,"id":"c1","function":{"name":"a","arguments":"{\\"x\\""}')
        + call('"index":0,"id":"c1","function":{"name":"a","arguments":":1}"}')
        + call('"index":1,"id":"c2","function":{"name":"b","arguments":"{\\"y\\":2}"}'),
        A_B,
    ),
    "an empty id and no name after the first piece": (
        call('"index":0,"id":"c1","function":{"name":"a","arguments":"{\\"x\\""}')
        + call('"index":0,"id":"","function":{"name":"","arguments":":1}"}')
        + call('"index":1,"id":"c2","function":{"name":"b","arguments":"{\\"y\\":2}"}'),
        A_B,
    ),
    "all with the index 0": (
        call('"index":0,"id":"c1","function":{"name":"a","arguments":"{\\"x\\":1}"}')
        + call('"index":0,"id":"c2","function":{"name":"b","arguments":"{\\"y\\":2}"}'),
        A_B,
    ),
    "all with the index 0, and without ids": (
        call('"index":0,"function":{"name":"a","arguments":"{\\"x\\":1}"}')
        + call('"index":0,"function":{"name":"b","arguments":"{\\"y\\":2}"}'),
        A_B,
    ),
    "without an index": (
        call('"id":"c1","function":{"name":"a","arguments":"{\\"x\\""}')
        + call('"function":{"arguments":":1}"}')
        + call('"id":"c2","function":{"name":"b","arguments":"{\\"y\\":2}"}'),
        A_B,
    ),
    "without index and id": (
        call('"function":{"name":"a","arguments":"{\\"x\\":1}"}')
        + call('"function":{"name":"b","arguments":"{\\"y\\":2}"}'),
        A_B,
    ),
    "the same id for both": (
        call('"index":0,"id":"c","function":{"name":"a","arguments":"{\\"x\\":1}"}')
        + call('"index":1,"id":"c","function":{"name":"b","arguments":"{\\"y\\":2}"}'),
        A_B,
    ),
    "the index begins at 1": (
        call('"index":1,"id":"c1","function":{"name":"a","arguments":"{\\"x\\":1}"}')
        + call('"index":2,"id":"c2","function":{"name":"b","arguments":"{\\"y\\":2}"}'),
        A_B,
    ),
    "the id after the name": (
        call('"index":0,"function":{"name":"a","arguments":""}')
        + call('"index":0,"id":"c1","function":{"arguments":"{\\"x\\":1}"}')
        + call('"index":1,"id":"c2","function":{"name":"b","arguments":"{\\"y\\":2}"}'),
        A_B,
    ),
    "arguments as an object": (
        call('"index":0,"id":"c1","function":{"name":"a","arguments":{"x":1}}')
        + call('"index":1,"id":"c2","function":{"name":"b","arguments":{"y":2}}'),
        A_B,
    ),
    "arguments are empty, null, missing or spaces": (
        call('"index":0,"id":"c1","function":{"name":"a","arguments":""}')
        + call('"index":1,"id":"c2","function":{"name":"b","arguments":null}')
        + call('"index":2,"id":"c3","function":{"name":"c"}')
        + call('"index":3,"id":"c4","function":{"name":"d","arguments":" "}'),
        tuple(RequestedCall(name, "{}") for name in "abcd"),
    ),
    "arguments that are no JSON are passed on": (
        call('"index":0,"id":"c1","function":{"name":"a","arguments":"x = 1"}')
        + call('"index":1,"id":"c2","function":{"name":"b","arguments":"{\\"y\\":"}'),
        (RequestedCall("a", "x = 1"), RequestedCall("b", '{"y":')),
    ),
    "digits and the order of keys stay": (
        call(
            '"index":0,"id":"c","function":{"name":"a","arguments":"{\\"b\\":1.0,\\"a\\":1e400}"}'
        ),
        (RequestedCall("a", '{"b":1.0,"a":1e400}'),),
    ),
    "text before them": (
        delta('"content":"Let me see."')
        + call('"index":0,"id":"c1","function":{"name":"a","arguments":"{}"}'),
        (TextBlock("Let me see."), RequestedCall("a", "{}")),
    ),
    "no name": (
        call('"index":0,"id":"c1","function":{"arguments":"{}"}'),
        (RequestedCall("", "{}"),),
    ),
}

THOUGHTS = {
    "reasoning_content, as of DeepSeek": '"content":null,"reasoning_content":"Hm."',
    "reasoning, as of OpenRouter": '"content":"","reasoning":"Hm."',
    "both with the same": '"reasoning_content":"Hm.","reasoning":"Hm."',
    "parts, as of Mistral": (
        '"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]}]'
    ),
}

U5 = '"prompt_tokens":100,"completion_tokens":20,"total_tokens":120'
USAGES = {
    "in the last event": (SAYS_HI + usage(U5), Usage(100, 20)),
    "in none": (SAYS_HI, NONE),
    "null until the last": (
        SAYS_HI.replace("]}\n", '],"usage":null}\n') + usage(U5),
        Usage(100, 20),
    ),
    "in several, of which the last counts": (
        usage('"prompt_tokens":100,"completion_tokens":3,"total_tokens":103') + SAYS_HI + usage(U5),
        Usage(100, 20),
    ),
    "beside the last choice": (chunk(STOP, rest=f',"usage":{{{U5}}}'), Usage(100, 20)),
    "cached and reasoning tokens": (
        SAYS_HI
        + usage(
            '"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,'
            '"prompt_tokens_details":{"cached_tokens":60,"audio_tokens":0},'
            '"completion_tokens_details":{"reasoning_tokens":12,"audio_tokens":0}'
        ),
        Usage(40, 20, 60, None, 12),
    ),
    "tokens written to the cache": (
        SAYS_HI
        + usage(U5 + ',"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}'),
        Usage(10, 20, 60, 30),
    ),
    "details are null": (
        SAYS_HI + usage(U5 + ',"prompt_tokens_details":null,"completion_tokens_details":null'),
        Usage(100, 20),
    ),
    "the cache as DeepSeek says it": (
        SAYS_HI + usage(U5 + ',"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36'),
        Usage(36, 20, 64),
    ),
    "reasoning beside the completion, as of xAI": (
        SAYS_HI
        + usage(
            '"prompt_tokens":100,"completion_tokens":5,"total_tokens":120,'
            '"completion_tokens_details":{"reasoning_tokens":15}'
        ),
        Usage(100, 20, None, None, 15),
    ),
    "thoughts only in the total, as of Gemini": (
        SAYS_HI + usage('"prompt_tokens":100,"completion_tokens":5,"total_tokens":120'),
        Usage(100, 20),
    ),
    "only the input": (SAYS_HI + usage('"prompt_tokens":100'), Usage(100)),
    "numbers as text": (
        SAYS_HI + usage('"prompt_tokens":"100","completion_tokens":"20"'),
        Usage(100, 20),
    ),
    "what can't be read is unknown": (SAYS_HI + usage('"prompt_tokens":{}'), NONE),
    "more cached than read": (
        SAYS_HI + usage('"prompt_tokens":10,"completion_tokens":1,"prompt_cache_hit_tokens":64'),
        Usage(0, 1, 64),
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer(name: str, driver: ModelDriver) -> None:
    text, blocks, reason = ANSWERS[name]
    async with ToolServer(*streams(text.encode())) as server:
        heard = await driver.ask(server)

    assert heard.answer == Answer(blocks, reason, NONE)
    assert heard.text() == "".join(b.text for b in blocks if isinstance(b, TextBlock))


@pytest.mark.parametrize("reason", ["tool_calls", "stop", "function_call"])
@pytest.mark.parametrize("name", CALLS)
async def test_calls_of_tools(name: str, reason: str, driver: ModelDriver) -> None:
    text, blocks = CALLS[name]
    end = chunk(CALLED.replace("tool_calls", reason)) + DONE
    async with ToolServer(*streams((FIRST + text + end).encode())) as server:
        heard = await driver.ask(server)

    assert heard.answer == Answer(blocks, "tool_calls", NONE)
    calls = [block for block in blocks if isinstance(block, RequestedCall)]
    pieces = [heard.text("tool_arguments", index).strip() for index in range(len(calls))]
    assert [piece or "{}" for piece in pieces] == [each.arguments for each in calls]


@pytest.mark.parametrize("name", THOUGHTS)
async def test_thoughts(name: str, driver: ModelDriver) -> None:
    text = FIRST + delta(THOUGHTS[name]) + delta('"content":"Hi"') + chunk(STOP) + DONE
    async with ToolServer(*streams(text.encode())) as server:
        heard = await driver.ask(server)

    thought, said = heard.answer.blocks
    assert isinstance(thought, ThinkingBlock)
    assert (thought.text, said) == ("Hm.", TextBlock("Hi"))
    assert (heard.text("thinking"), heard.text()) == ("Hm.", "Hi")


@pytest.mark.requirement("MODEL-04")
@pytest.mark.parametrize("name", USAGES)
async def test_usage(name: str, driver: ModelDriver) -> None:
    text, expected = USAGES[name]
    async with ToolServer(*streams((text + DONE).encode())) as server:
        assert (await driver.ask(server)).answer.usage == expected


@pytest.mark.parametrize("piece", [1, 2, 3, 7])
async def test_bytes_may_be_cut_anywhere_even_in_a_letter(piece: int, driver: ModelDriver) -> None:
    text = delta('"content":"Grüße, 世界 👋"') + chunk(STOP) + usage(U5) + DONE
    sent = text.replace("\n", "\r\n").encode()
    async with ToolServer(*streams(sent, piece=piece)) as server:
        heard = await driver.ask(server)

    assert heard.answer == Answer((TextBlock("Grüße, 世界 👋"),), "end_turn", Usage(100, 20))


@pytest.mark.requirement("MODEL-04")
@pytest.mark.parametrize(("provider", "cost"), [("openrouter", 0.0123), ("other", None)])
async def test_only_openrouter_says_what_a_call_cost(
    provider: str, cost: float | None, driver: ModelDriver
) -> None:
    text = SAYS_HI + usage(U5 + ',"cost":0.0123') + DONE
    async with ToolServer(*streams(text.encode())) as server:
        heard = await driver.ask(server, provider=provider)

    assert heard.answer.usage.cost_usd == cost
