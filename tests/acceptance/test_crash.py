"""The engine is killed in the middle of a tool call, and comes back."""

import pytest

from brain_testing.api import Api
from brain_testing.desk import Desk, within
from brain_testing.engine_process import engine_process
from brain_testing.reading import of_type, only, said, types
from brain_testing.running import RunningBrain


@pytest.mark.requirement("OUT-07", "TOOL-05", "TOOL-09", "REC-02")
async def test_a_call_in_flight_when_the_engine_dies_has_an_unknown_outcome_and_is_not_sent_again(
    brain: RunningBrain, api: Api, desk: Desk
) -> None:
    async with engine_process(brain, api) as engine:
        session_id = await api.create("ask")
        sent = await api.send(session_id, '/call ask {"n":0}\n/call ask {"n":1}')
        answered, open_call = await desk.next_call(), await desk.next_call()
        async with api.follow(session_id) as frames:
            answered.say("in time")
            async for frame in frames:
                if frame.event == "tool.result":
                    break
        queued = await api.send(session_id, "and then?")
        before = await api.events(session_id)
        await engine.kill()
    await within(open_call.gone.wait())

    await brain.start_engine()
    await api.until_ready()
    events = await api.until_idle(session_id)

    assert events[: len(before)] == before
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    results = {data["call_id"]: data for data in of_type(events, "tool.result")}
    assert len(of_type(events, "tool.result")) == 2
    assert results[answered.body["call_id"]]["is_error"] is False
    lost = results[open_call.body["call_id"]]
    assert (lost["is_error"], lost["unknown_outcome"]) == (True, True)
    assert lost["code"] == "engine_died"
    recovered = only(events, "turn.recovered")
    assert recovered["open_call_ids"] == [open_call.body["call_id"]]
    assert len(desk.arrived) == 2
    started, next_started = [e for e in events if e["type"] == "turn.started"]
    assert started["turn_id"] == sent["turn_id"]
    assert next_started["data"]["message_ids"] == [queued["message_id"]]
    assert types(events).count("turn.completed") == 2
    assert said(events) == "You said: and then?"


@pytest.mark.requirement("EVT-02", "EVT-06")
async def test_a_follower_outlives_the_engine_and_misses_and_repeats_nothing(
    brain: RunningBrain, api: Api, desk: Desk
) -> None:
    async with engine_process(brain, api) as engine:
        session_id = await api.create("ask")
        await api.send(session_id, "/call ask {}")
        await desk.next_call()
        async with api.follow(session_id, until="idle") as frames:
            assert (await anext(frames)).event == "session.state"
            await engine.kill()
            await brain.start_engine()
            followed = [frame.data async for frame in frames if frame.id is not None]
    assert followed == await api.events(session_id)
    assert types(followed)[-1] == "turn.completed"
