"""Interrupt: it answers when the turn has ended, and everything that was open is closed."""

import asyncio

import pytest

from brain_testing.api import Api, Json
from brain_testing.desk import Desk, within
from brain_testing.reading import of_type, only, read_until, said, text_of, types


async def interrupt(api: Api, session_id: str, body: Json | None = None) -> Json:
    answer = await api.http.post(f"/sessions/{session_id}/interrupt", json=body)
    assert answer.status_code == 200
    return answer.json()


@pytest.mark.requirement("SES-04", "OUT-06", "OUT-11", "TOOL-09")
async def test_it_answers_when_the_turn_has_ended(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    sent = await api.send(session_id, "/call ask {}")
    call = await desk.next_call()

    answer = await interrupt(api, session_id)
    session = await api.session(session_id)
    events = await api.events(session_id)

    assert answer == {"interrupted": True, "turn_id": sent["turn_id"]}
    assert session["status"] == "idle"
    await within(call.gone.wait())
    result = only(events, "tool.result")
    assert result["call_id"] == call.body["call_id"]
    assert (result["is_error"], result["unknown_outcome"]) == (True, True)
    assert types(events)[-2:] == ["tool.result", "turn.interrupted"]
    assert events[-1]["data"]["reason"] == "client"
    assert events[-1]["seq"] == session["last_seq"]


@pytest.mark.requirement("SES-04")
async def test_on_an_idle_session_it_changes_nothing(api: Api) -> None:
    session_id = await api.create()
    await api.turn(session_id, "hi")
    before = await api.events(session_id)
    assert await interrupt(api, session_id) == {"interrupted": False, "turn_id": None}
    assert await api.events(session_id) == before


@pytest.mark.requirement("SES-04")
async def test_the_next_turn_works(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    await desk.next_call()
    await interrupt(api, session_id)
    await api.send(session_id, "/call ask {}")
    (await desk.next_call()).say("this time")
    assert said(await api.until_idle(session_id)) == "this time"


@pytest.mark.requirement("SES-04", "MSG-03")
@pytest.mark.parametrize("body", [None, {}, {"keep_queue": False}])
async def test_queued_messages_are_withdrawn(body: Json | None, api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    await desk.next_call()
    queued = [await api.send(session_id, text) for text in ("one", "two")]
    await interrupt(api, session_id, body)
    events = await api.events(session_id)
    withdrawn = of_type(events, "message.withdrawn")
    assert [each["message_id"] for each in withdrawn] == [each["message_id"] for each in queued]
    assert (await api.session(session_id))["status"] == "idle"
    assert types(events).count("turn.started") == 1


@pytest.mark.requirement("SES-04", "MSG-03")
async def test_with_keep_queue_the_next_message_has_its_turn(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    await desk.next_call()
    await api.send(session_id, "next")
    answer = await interrupt(api, session_id, {"keep_queue": True})
    events = await api.until_idle(session_id)
    assert answer["interrupted"] is True
    assert "message.withdrawn" not in types(events)
    assert said(events) == "You said: next"
    ends = [kind for kind in types(events) if kind in {"turn.interrupted", "turn.completed"}]
    assert ends == ["turn.interrupted", "turn.completed"]


@pytest.mark.requirement("TOOL-09", "OUT-06")
async def test_in_a_batch_only_the_calls_that_had_not_ended_are_cut_off(
    api: Api, desk: Desk
) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, '/call ask {"n":0}\n/call ask {"n":1}\n/call ask {"n":2}')
    calls = [await desk.next_call() for _ in range(3)]
    ended = next(call for call in calls if call.arguments["n"] == 1)
    async with api.follow(session_id) as frames:
        ended.say("I was in time")
        async for frame in frames:
            if frame.event == "tool.result":
                break
    await interrupt(api, session_id)
    results = {r["call_id"]: r for r in of_type(await api.events(session_id), "tool.result")}
    assert len(results) == 3
    for call in calls:
        cut_off = call is not ended
        result = results[call.body["call_id"]]
        assert (result["is_error"], result["unknown_outcome"]) == (cut_off, cut_off)


@pytest.mark.requirement("SES-04")
async def test_two_interrupts_at_once_end_the_turn_once(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    await desk.next_call()
    await asyncio.gather(*(interrupt(api, session_id) for _ in range(5)))
    assert len(of_type(await api.events(session_id), "turn.interrupted")) == 1


@pytest.mark.requirement("LOOP-02", "SES-04")
async def test_in_the_middle_of_an_answer_what_was_said_so_far_is_kept_and_marked(
    api: Api,
) -> None:
    session_id = await api.create()
    async with api.follow(session_id) as frames:
        await api.send(session_id, "word " * 100_000)
        await read_until(frames, "message.delta")
        answer = await interrupt(api, session_id)
    assert answer["interrupted"] is True
    events = await api.events(session_id)
    assert types(events)[-2:] == ["message.assistant", "turn.interrupted"]
    message = only(events, "message.assistant")
    assert message["stop_reason"] == "interrupted"
    kept = text_of(message)
    assert kept.startswith("You said: word")
    assert len(kept) < 100_000 * len("word ")
    assert said(await api.turn(session_id, "and now?")).endswith("and now?")
