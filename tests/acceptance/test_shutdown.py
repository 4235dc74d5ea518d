"""The engine is told to stop: calls in flight have a while to end, and turns go on later."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest

from brain_testing.api import Api, Json
from brain_testing.desk import Desk, within
from brain_testing.engine_process import engine_process
from brain_testing.plugin import StartBrain
from brain_testing.reading import of_type, only, said, types
from brain_testing.running import RunningBrain

pytestmark = pytest.mark.requirement("REC-04")

LONG, NONE = {"shutdown_grace_seconds": 60}, {"shutdown_grace_seconds": 0}
Connect = Callable[..., Api]


@asynccontextmanager
async def stopping(brain: RunningBrain, api: Api) -> AsyncGenerator[None]:
    """The engine has been told to stop when the block begins, and has stopped when it ends."""
    task = asyncio.create_task(brain.stop_engine())
    async with asyncio.timeout(20):
        while (await api.http.get("/readyz")).status_code == 200:
            pass
    yield
    await within(task)


async def after_restart(brain: RunningBrain, api: Api, session_id: str) -> list[Json]:
    await brain.start_engine()
    await api.until_ready()
    return await api.until_idle(session_id)


async def test_a_call_that_ends_in_time_has_its_own_result_and_the_turn_goes_on_later(
    start_brain: StartBrain, connect: Connect, desk: Desk
) -> None:
    brain = await start_brain(tools=[desk.binding("ask")], extra=LONG)
    api = connect(brain)
    session_id = await api.create("ask")
    sent = await api.send(session_id, '/call ask {"n":0}\n/call ask {"n":1}')
    first, second = await desk.next_call(), await desk.next_call()
    async with stopping(brain, api):
        first.say("one")
        second.say("two")
    events = await after_restart(brain, api, session_id)

    assert [each["is_error"] for each in of_type(events, "tool.result")] == [False, False]
    assert only(events, "turn.recovered")["open_call_ids"] == []
    assert types(events).index("turn.recovered") > types(events).index("tool.result")
    assert only(events, "turn.completed")["stop_reason"] == "end_turn"
    assert {event["turn_id"] for event in events if event["turn_id"]} == {sent["turn_id"]}
    assert said(events) == "one\ntwo"
    assert len(desk.arrived) == 2


async def test_a_call_that_takes_longer_is_let_go_with_an_unknown_outcome(
    start_brain: StartBrain, connect: Connect, desk: Desk
) -> None:
    brain = await start_brain(tools=[desk.binding("ask")], extra=NONE)
    api = connect(brain)
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    await within(brain.stop_engine())
    await within(call.gone.wait())
    events = await after_restart(brain, api, session_id)

    lost = only(events, "tool.result")
    assert (lost["code"], lost["is_error"], lost["unknown_outcome"]) == ("engine_died", True, True)
    assert only(events, "turn.recovered")["open_call_ids"] == [lost["call_id"]]
    assert len(desk.arrived) == 1


async def test_nothing_is_begun_once_it_was_told_to_stop(
    start_brain: StartBrain, connect: Connect, desk: Desk
) -> None:
    brain = await start_brain(tools=[desk.binding("ask")], extra=LONG)
    api = connect(brain)
    session_id, other = await api.create("ask"), await api.create("ask")
    await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    queued = await api.send(session_id, "and then?")
    async with stopping(brain, api):
        refused = await api.http.post(f"/sessions/{other}/messages", json={"content": "hi"})
        call.say("done")
    assert (refused.status_code, refused.json()["type"]) == (503, "/problems/engine-unavailable")

    events = await after_restart(brain, api, session_id)
    kinds = types(events)
    assert kinds.index("turn.recovered") < kinds.index("message.assistant", 7)
    assert [each["message_ids"] for each in of_type(events, "turn.started")][1:] == [
        [queued["message_id"]]
    ]
    assert kinds.count("turn.completed") == 2
    assert await api.events(other) == await api.until_idle(other)
    assert types(await api.events(other)) == ["session.created"]


async def test_followers_are_shown_the_result_that_comes_while_it_stops(
    start_brain: StartBrain, connect: Connect, desk: Desk
) -> None:
    brain = await start_brain(tools=[desk.binding("ask")], extra=LONG)
    api = connect(brain)
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    async with api.follow(session_id, until="idle") as frames:
        async with stopping(brain, api):
            call.say("done")
            async for frame in frames:
                if frame.event == "tool.result":
                    break
        await brain.start_engine()
        followed = [frame.data async for frame in frames if frame.id is not None]
    events = await api.events(session_id)
    assert followed == events[events.index(followed[0]) :]
    assert followed[0]["type"] == "turn.recovered"


async def test_sigterm_ends_the_process_with_success_once_its_calls_have_ended(
    start_brain: StartBrain, connect: Connect, desk: Desk
) -> None:
    brain = await start_brain(tools=[desk.binding("ask")], extra=LONG)
    api = connect(brain)
    async with engine_process(brain, api) as engine:
        session_id = await api.create("ask")
        await api.send(session_id, "/call ask {}")
        call = await desk.next_call()
        engine.terminate()
        call.say("done")
        assert await engine.ended() == 0
    events = await after_restart(brain, api, session_id)
    assert only(events, "tool.result")["is_error"] is False
    assert said(events) == "done"
