"""The way of a turn, event by event, as `docs` and the design show it."""

import pytest

from brain_testing.api import Api, Frame
from brain_testing.desk import Desk
from brain_testing.reading import of_type, only, read_until, said, shape, text_of

TEXT_TURN = [
    "session.state*",
    "session.created",
    "message.user",
    "turn.started",
    "message.delta*",
    "message.assistant",
    "turn.completed",
]
TOOL_TURN = [
    "session.state*",
    "session.created",
    "message.user",
    "turn.started",
    "message.delta*",
    "message.assistant",
    "tool.call",
    "tool.result",
    "message.delta*",
    "message.assistant",
    "turn.completed",
]


def deltas(frames: list[Frame], kind: str) -> list[str]:
    """The texts of the pieces of one kind."""
    pieces = [frame.data["data"] for frame in frames if frame.event == "message.delta"]
    return [piece["text"] for piece in pieces if piece["kind"] == kind]


@pytest.mark.requirement("LOOP-01", "MODEL-03")
async def test_a_text_turn(api: Api) -> None:
    session_id = await api.create()
    async with api.follow(session_id) as frames:
        # What is live-only is shown to a reader that has caught up.
        read = await read_until(frames, "session.created")
        sent = await api.send(session_id, "one two  three")
        read += await read_until(frames, "turn.completed")
    events = [frame.data for frame in read]
    assert shape(read) == TEXT_TURN
    assert deltas(read, "text") == ["You", " said:", " one", " two", "  three"]
    message = only(events, "message.assistant")
    assert message["content"] == [{"type": "text", "text": "You said: one two  three"}]
    assert message["stop_reason"] == "end_turn"
    assert message["model"] == "demo/script"
    assert only(events, "turn.started")["message_ids"] == [sent["message_id"]]
    pieces = of_type(events, "message.delta")
    assert {piece["message_id"] for piece in pieces} == {message["message_id"]}
    completed = only(events, "turn.completed")
    assert completed["stop_reason"] == "end_turn"
    assert completed["usage"] == message["usage"]
    in_turn = [event for event in events if event["turn_id"]]
    assert {event["turn_id"] for event in in_turn} == {sent["turn_id"]}


@pytest.mark.requirement("LOOP-01", "MODEL-03", "REPLY-01")
async def test_a_tool_turn_with_a_json_tool(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    async with api.follow(session_id) as frames:
        read = await read_until(frames, "session.created")
        await api.send(session_id, '/call ask {"text":"hello"}')
        call = await desk.next_call()
        call.say("hello yourself")
        read += await read_until(frames, "turn.completed")
    events = [frame.data for frame in read]
    assert shape(read) == TOOL_TURN
    assert "".join(deltas(read, "tool_arguments")) == '{"text":"hello"}'
    asked, answered = of_type(events, "message.assistant")
    called = only(events, "tool.call")
    assert asked["stop_reason"] == "tool_calls"
    assert [block for block in asked["content"] if block["type"] == "tool_call"] == [
        {
            "type": "tool_call",
            "call_id": called["call_id"],
            "name": "ask",
            "arguments": {"text": "hello"},
        }
    ]
    assert called == {
        "call_id": call.body["call_id"],
        "name": "ask",
        "arguments": {"text": "hello"},
    }
    result = only(events, "tool.result")
    assert isinstance(result.pop("duration_ms"), int)
    assert result == {
        "call_id": called["call_id"],
        "name": "ask",
        "content": [{"type": "text", "text": "hello yourself"}],
        "is_error": False,
        "unknown_outcome": False,
    }
    assert text_of(answered) == "hello yourself"
    assert answered["stop_reason"] == "end_turn"


@pytest.mark.requirement("LOOP-01", "REPLY-06", "REPLY-07")
async def test_a_tool_turn_with_a_streaming_tool(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    async with api.follow(session_id) as frames:
        before = await read_until(frames, "session.created")
        await api.send(session_id, "/call ask {}")
        call = await desk.next_call()
        await call.progress({"status": "waiting_for_operator"})
        before += await read_until(frames, "tool.progress")
        await call.progress([1, None, "é"])
        await call.result("Operator answered yes.")
        read = before + await read_until(frames, "turn.completed")
    events = [frame.data for frame in read]
    after_call = TOOL_TURN.index("tool.result")
    assert shape(read) == [*TOOL_TURN[:after_call], "tool.progress*", *TOOL_TURN[after_call:]]
    call_id = call.body["call_id"]
    assert of_type(events, "tool.progress") == [
        {"call_id": call_id, "progress": {"status": "waiting_for_operator"}},
        {"call_id": call_id, "progress": [1, None, "é"]},
    ]
    assert said(events) == "Operator answered yes."


@pytest.mark.requirement("LOOP-05")
async def test_a_turn_stops_after_max_steps_with_every_call_answered(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask", max_steps=1)
    await api.send(session_id, "/call ask {}")
    (await desk.next_call()).say("done")
    events = await api.until_idle(session_id)
    assert only(events, "message.assistant")["stop_reason"] == "tool_calls"
    assert only(events, "tool.result")["is_error"] is False
    assert events[-1]["type"] == "turn.completed"
    assert events[-1]["data"]["stop_reason"] == "max_steps"
    follow_up = await api.turn(session_id, "hi")
    assert follow_up[-1]["data"]["stop_reason"] == "end_turn"


@pytest.mark.requirement("MODEL-03")
async def test_a_call_without_arguments_means_an_empty_object(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, "Some words.\n/call ask\nMore words.")
    call = await desk.next_call()
    assert call.arguments == {}
    call.say("done")
    assert said(await api.until_idle(session_id)) == "done"


@pytest.mark.requirement("MODEL-04")
async def test_turns_are_counted_up_in_the_sessions_usage(api: Api) -> None:
    session_id = await api.create()
    completed = [(await api.turn(session_id, text))[-1]["data"]["usage"] for text in ("a", "b c")]
    usage = (await api.session(session_id))["usage"]
    for field in ("input_tokens", "output_tokens"):
        assert usage[field] == sum(each[field] for each in completed) > 0
