"""An interrupt in the middle of anything leaves a conversation that the provider accepts."""

import pytest

from brain_testing.desk import within
from brain_testing.model_server import Call, Gate, Say, Think, Used
from brain_testing.model_server.stage import Play, streamed
from brain_testing.reading import of_type, only, said, text_of, types

pytestmark = pytest.mark.requirement("LOOP-02")


@pytest.mark.requirement("MODEL-04")
async def test_in_the_middle_of_a_text(play: Play, dialect: str) -> None:
    gate = Gate()
    stage = await play((Say("Once upon"), gate, Say(" a time"), Used(20, 9)), (Say("Here."),))
    session_id = await stage.create()
    await stage.send_until(session_id, "A story!", streamed("text", "upon"))
    await stage.interrupt(session_id)
    events = await stage.api.events(session_id)
    works = await stage.api.turn(session_id, "Stop. Hello?")

    message = only(events, "message.assistant")
    assert (message["stop_reason"], text_of(message)) == ("interrupted", "Once upon")
    assert message["usage"]["output_tokens"] in (None, 1)
    known = 20 if dialect == "anthropic-messages" else None
    assert message["usage"]["input_tokens"] == known
    assert said(works) == "Here."
    assert "Once upon" not in "\n".join(stage.told())
    assert stage.told()[-1].endswith("Stop. Hello?")


async def test_the_connection_is_dropped_and_nothing_goes_on_being_paid_for(play: Play) -> None:
    gate = Gate()
    stage = await play((Say("Once upon"), gate, Say(" a time")))
    session_id = await stage.create()
    await stage.send_until(session_id, "A story!", streamed("text", "upon"))
    await stage.interrupt(session_id)

    await within(gate.left.wait())


async def test_in_the_middle_of_a_thought(play: Play) -> None:
    gate = Gate()
    stage = await play((Think("Let me see"), gate), (Think("Hm."), Say("Here.")), (Say("Yes."),))
    session_id = await stage.create(thinking="high")
    await stage.send_until(session_id, "A story!", streamed("thinking", "see"))
    await stage.interrupt(session_id)
    events = await stage.api.events(session_id)
    await stage.api.turn(session_id, "Stop.")
    await stage.api.turn(session_id, "Are you there?")

    message = only(events, "message.assistant")
    assert message["content"] == [{"type": "thinking", "text": "Let me see"}]
    told = "\n".join(stage.told())
    assert "Let me see" not in told
    assert "thinking: Hm.\nassistant: Here.\nuser: Are you there?" in told


async def test_in_the_middle_of_a_call_s_arguments(play: Play) -> None:
    gate = Gate()
    begun = (Say("I'll ask."), Call("ask", '{"n":1}'), Call("ask", '{"why":"never'), gate)
    stage = await play(begun, (Say("Here."),))
    session_id = await stage.create("ask")
    await stage.send_until(session_id, "Ask!", streamed("tool_arguments", "ver"))
    await stage.interrupt(session_id)
    events = await stage.api.events(session_id)
    works = await stage.api.turn(session_id, "Stop.")

    assert not stage.desk.arrived
    assert "tool.call" not in types(events)
    assert text_of(only(events, "message.assistant")) == "I'll ask."
    assert said(works) == "Here."
    assert not [line for line in stage.told() if line.startswith(("call", "result", "error"))]


@pytest.mark.requirement("TOOL-09")
async def test_in_the_middle_of_a_batch(play: Play) -> None:
    asks = (Think("Hm."), *(Call("ask", f'{{"n":{n}}}') for n in range(3)))
    stage = await play(asks, (Say("Here."),))
    session_id = await stage.create("ask", thinking="high")
    await stage.api.send(session_id, "Ask thrice.")
    calls = [await stage.desk.next_call() for _ in range(3)]
    async with stage.api.follow(session_id) as frames:
        next(call for call in calls if call.arguments == {"n": 1}).say("one")
        async for frame in frames:
            if frame.event == "tool.result":
                break
    await stage.interrupt(session_id)
    events = await stage.api.events(session_id)
    works = await stage.api.turn(session_id, "What do you have?")

    assert len(of_type(events, "tool.result")) == 3
    assert said(works) == "Here."
    told = stage.told()
    assert told[1:5] == ["thinking: Hm.", *(f'call {n}: ask {{"n":{n}}}' for n in range(3))]
    assert [line.split(":")[0] for line in told[5:]] == ["error 0", "result 1", "error 2", "user"]


async def test_before_anything_was_said(play: Play) -> None:
    gate = Gate()
    stage = await play((gate, Say("Late.")), (Say("Here."),))
    session_id = await stage.create()
    await stage.api.send(session_id, "Hi")
    await gate.reached()
    await stage.interrupt(session_id)
    works = await stage.api.turn(session_id, "Again")

    assert said(works) == "Here."


@pytest.mark.requirement("MSG-02")
async def test_a_message_that_steers_comes_after_the_batch_s_results(play: Play) -> None:
    stage = await play((Call("ask", '{"n":1}'),), (Say("Here."),))
    session_id = await stage.create("ask")
    await stage.api.send(session_id, "Ask.")
    call = await stage.desk.next_call()
    await stage.api.send(session_id, "And be quick.", delivery="steer")
    call.say("one")
    events = await stage.api.until_idle(session_id)

    assert said(events) == "Here."
    assert stage.told()[-2:] == ["result 0: one", "user: And be quick."]
