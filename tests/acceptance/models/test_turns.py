"""A turn on a real wire format: what the model is told, and what the client gets to see."""

import pytest

from brain_testing.model_server import (
    KEY,
    Call,
    Dialect,
    Finish,
    Gate,
    More,
    Refuse,
    Say,
    Think,
    Used,
)
from brain_testing.model_server.conversation import tools_told
from brain_testing.model_server.pictures import GIF, PNG
from brain_testing.model_server.stage import ASK, Play, streamed
from brain_testing.reading import of_type, only, said, types

pytestmark = pytest.mark.requirement("MODEL-01", "LOOP-01")

_USAGE = {
    "input_tokens": 20,
    "output_tokens": 9,
    "cache_read_tokens": 7,
    "cache_write_tokens": 3,
    "reasoning_tokens": 4,
}


async def test_a_text_turn(play: Play, dialect: Dialect) -> None:
    stage = await play((Say("Hello, you."),))
    session_id = await stage.create(system_prompt="Be brief.")
    events = await stage.api.turn(session_id, "Hi")

    assert types(events) == ["message.user", "turn.started", "message.assistant", "turn.completed"]
    assert said(events) == "Hello, you."
    assert stage.told() == ["system: Be brief.", "user: Hi"]
    request = stage.server.requests[0]
    assert request.body["stream"] is True
    assert (
        KEY in request.headers["x-api-key" if dialect == "anthropic-messages" else "authorization"]
    )


async def test_the_answer_is_streamed_as_it_comes(play: Play) -> None:
    gate = Gate()
    stage = await play((Think("Let me see."), Say("One two"), gate, Say(" three")))
    session_id = await stage.create()
    frames = await stage.send_until(session_id, "Count.", streamed("text", "two"))
    gate.open()
    events = await stage.api.until_idle(session_id)

    pieces = [frame.data["data"] for frame in frames if frame.event == "message.delta"]
    for kind, text in (("thinking", "Let me see."), ("text", "One two")):
        assert "".join(each["text"] for each in pieces if each["kind"] == kind) == text
    assert said(events) == "One two three"


async def test_a_tool_turn(play: Play) -> None:
    stage = await play((Say("I'll ask."), Call("ask", '{"n":2}')), (Say("It is four."),))
    session_id = await stage.create("ask")
    await stage.api.send(session_id, "Twice two?")
    call = await stage.desk.next_call()
    call.say("4")
    events = await stage.api.until_idle(session_id)

    assert call.arguments == {"n": 2}
    assert types(events)[-4:] == [
        "tool.call",
        "tool.result",
        "message.assistant",
        "turn.completed",
    ]
    assert said(events) == "It is four."
    assert stage.told() == [
        "user: Twice two?",
        "assistant: I'll ask.",
        'call 0: ask {"n":2}',
        "result 0: 4",
    ]


@pytest.mark.requirement("TOOL-08")
async def test_four_calls_at_once_whose_arguments_are_streamed_in_turn(play: Play) -> None:
    begins = tuple(Call("ask", '{"why":"') for _ in range(4))
    ends = tuple(More(place, f'{"x" * 20}","n":{place}}}') for place in (2, 0, 3, 1))
    stage = await play((*begins, *ends), (Say("All four."),))
    session_id = await stage.create("ask")
    await stage.api.send(session_id, "Ask four times.")
    arrived = [await stage.desk.next_call() for _ in range(4)]
    for call in reversed(arrived):
        call.say(f"answer {call.arguments['n']}")
    events = await stage.api.until_idle(session_id)

    calls = of_type(events, "tool.call")
    assert [call["arguments"]["n"] for call in calls] == [0, 1, 2, 3]
    assert len({call["call_id"] for call in calls}) == 4
    assert stage.told() == [
        "user: Ask four times.",
        *(f'call {n}: ask {{"why":"{"x" * 20}","n":{n}}}' for n in range(4)),
        *(f"result {n}: answer {n}" for n in range(4)),
    ]


async def test_a_call_without_arguments_and_one_that_fails(play: Play) -> None:
    stage = await play((Call("look"), Call("ask", '{"n":"two"}')), (Say("I see."),))
    session_id = await stage.create("ask", "look")
    await stage.api.send(session_id, "Look and ask.")
    call = await stage.desk.next_call()
    call.say("nothing there", is_error=True)
    await stage.api.until_idle(session_id)

    assert call.arguments == {}
    told = stage.told()
    assert told[1:4] == ["call 0: look {}", 'call 1: ask {"n":"two"}', "error 0: nothing there"]
    assert told[4].startswith("error 1: ")


async def test_arguments_that_are_no_json_come_back_as_something_valid(play: Play) -> None:
    stage = await play((Call("ask", '{"n": 1'), Call("ask", "two")), (Say("Sorry."),))
    session_id = await stage.create("ask")
    events = await stage.api.turn(session_id, "Ask.")

    assert not stage.desk.arrived
    assert {each["code"] for each in of_type(events, "tool.result")} == {"refused_arguments"}
    assert said(events) == "Sorry."


@pytest.mark.requirement("SES-03")
async def test_the_model_sees_exactly_the_session_s_tools_in_their_order(play: Play) -> None:
    stage = await play()
    both, one, none = (
        await stage.create("look", "ask"),
        await stage.create("ask"),
        await stage.create(),
    )
    for session_id in (both, one, none):
        await stage.api.turn(session_id, "Hi")

    look = {"description": "The tool look of a test.", "input_schema": {"type": "object"}}
    ask = {"name": "ask", "description": "The tool ask of a test.", "input_schema": ASK}
    assert [tools_told(request) for request in stage.server.requests] == [
        [{"name": "look", **look}, ask],
        [ask],
        [],
    ]
    schemas = [tool["input_schema"] for tool in tools_told(stage.server.requests[1])]
    assert [list(schema) for schema in schemas] == [list(ASK)]


async def test_a_thought_is_kept_and_handed_back_with_the_next_steps(play: Play) -> None:
    thinks = (Think("Two and two. "), Think("Hm."), Say("I'll ask."), Call("ask", "{}"))
    stage = await play(thinks, (Think("So it is."), Say("Four.")), (Say("Five."),))
    session_id = await stage.create("ask", thinking="high")
    await stage.api.send(session_id, "Twice two?")
    (await stage.desk.next_call()).say("4")
    events = await stage.api.until_idle(session_id)
    await stage.api.turn(session_id, "And one?")

    first = of_type(events, "message.assistant")[0]["content"][0]
    assert (first["type"], first["text"]) == ("thinking", "Two and two. Hm.")
    # The server has looked at signatures and encrypted contents: they came back unchanged.
    assert stage.told() == [
        "user: Twice two?",
        "thinking: Two and two. Hm.",
        "assistant: I'll ask.",
        "call 0: ask {}",
        "result 0: 4",
        "thinking: So it is.",
        "assistant: Four.",
        "user: And one?",
    ]


async def test_a_thought_that_only_the_provider_can_read_is_handed_back(
    play: Play, dialect: Dialect
) -> None:
    stage = await play((Think("", sealed=True), Call("ask", "{}")), (Say("Four."),))
    session_id = await stage.create("ask", thinking="high")
    await stage.api.send(session_id, "Twice two?")
    (await stage.desk.next_call()).say("4")
    await stage.api.until_idle(session_id)

    body = stage.server.requests[-1].body
    if dialect == "anthropic-messages":
        assert body["messages"][1]["content"][0]["type"] == "redacted_thinking"
    elif dialect == "openai-responses":
        assert body["input"][1]["encrypted_content"]


@pytest.mark.requirement("MSG-04")
async def test_images_reach_the_model_from_the_user_and_from_a_tool(
    play: Play, dialect: Dialect
) -> None:
    stage = await play((Call("look"),), (Say("A dot."),))
    session_id = await stage.create("look")
    picture = {"type": "image", "data": PNG, "mime_type": "image/png"}
    await stage.api.send(session_id, [{"type": "text", "text": "Like this?"}, picture])
    shown = {"type": "image", "data": GIF, "mime_type": "image/gif"}
    (await stage.desk.next_call()).reply({"content": [{"type": "text", "text": "See:"}, shown]})
    events = await stage.api.until_idle(session_id)

    assert said(events) == "A dot."
    asked = ["user: Like this?", f"user: image/png {PNG}", "call 0: look {}", "result 0: See:"]
    if dialect == "openai-chat":
        # Results are text only there, so the user shows it.
        shows = ["user: Images in the result of look:", f"user: image/gif {GIF}"]
    else:
        shows = [f"result 0: image/gif {GIF}"]
    assert stage.told() == [*asked, *shows]


@pytest.mark.requirement("MODEL-04")
async def test_usage_and_cost_have_cached_and_reasoning_tokens(play: Play) -> None:
    prices = {"input": 1, "cache_read": 0.1, "cache_write": 2, "output": 10}
    used = Used(input=20, output=9, cached=7, written=3, reasoning=4)
    stage = await play((Say("One."), used), (Say("Two."), used), prices=prices)
    session_id = await stage.create()
    events = await stage.api.turn(session_id, "Hi")
    await stage.api.turn(session_id, "Again")
    session = await stage.api.session(session_id)

    cost = (20 * 1 + 7 * 0.1 + 3 * 2 + 9 * 10) / 1_000_000
    for data in (only(events, "message.assistant"), only(events, "turn.completed")):
        assert data["usage"] == {**_USAGE, "cost_usd": pytest.approx(cost)}
    twice = {name: 2 * tokens for name, tokens in _USAGE.items()}
    assert session["usage"] == {**twice, "cost_usd": pytest.approx(2 * cost)}


@pytest.mark.requirement("MODEL-04")
async def test_a_model_without_a_price_costs_nothing_known(play: Play) -> None:
    stage = await play((Say("One."),))
    events = await stage.api.turn(await stage.create(), "Hi")

    assert only(events, "turn.completed")["usage"]["cost_usd"] is None


async def test_a_refusal_in_words_is_an_answer_but_for_anthropic_where_it_ends_the_turn(
    play: Play, dialect: Dialect
) -> None:
    stage = await play((Refuse("I can't help with that."),), (Say("Gladly."),))
    session_id = await stage.create()
    events = await stage.api.turn(session_id, "Something bad")
    works = await stage.api.turn(session_id, "Something good")

    if dialect == "anthropic-messages":
        assert only(events, "turn.failed")["error"]["code"] == "content_refused"
        assert "assistant: I can't help with that." not in stage.told()
    else:
        assert said(events) == "I can't help with that."
        assert "assistant: I can't help with that." in stage.told()
    assert said(works) == "Gladly."


async def test_a_filtered_answer_fails_the_turn_and_the_next_message_works(play: Play) -> None:
    stage = await play((Say("Well, "), Finish("content_filter")), (Say("Gladly."),))
    session_id = await stage.create()
    events = await stage.api.turn(session_id, "Something bad")
    works = await stage.api.turn(session_id, "Something good")

    assert only(events, "turn.failed")["error"]["code"] == "content_refused"
    assert "model.retry" not in types(events)
    assert said(works) == "Gladly."


@pytest.mark.requirement("TOOL-10")
async def test_calls_of_an_answer_that_was_cut_off_are_not_made(play: Play) -> None:
    cut_off = (Say("I'll ask."), Call("ask", '{"n":1}'), Call("ask", '{"n'), Finish("length"))
    stage = await play(cut_off, (Say("Once more."),))
    session_id = await stage.create("ask")
    events = await stage.api.turn(session_id, "Ask")

    assert not stage.desk.arrived
    assert [each["code"] for each in of_type(events, "tool.result")] == ["answer_cut_off"] * 2
    told = stage.told()
    assert told[1:3] == ["assistant: I'll ask.", 'call 0: ask {"n":1}']
    assert [line[:8] for line in told[4:]] == ["error 0:", "error 1:"]
    assert said(events) == "Once more."
