"""`until=idle` ends a stream once there is nothing more to wait for."""

import asyncio

import pytest

from brain_testing.api import Api, Frame
from brain_testing.desk import Desk
from brain_testing.reading import read_until

pytestmark = pytest.mark.requirement("EVT-05")


async def names(api: Api, session_id: str, after: int = 0) -> list[str]:
    """The names of all events of a stream that ends by itself."""
    async with api.follow(session_id, after=after, until="idle") as frames:
        return [frame.event async for frame in frames]


async def test_on_a_new_session_it_ends_after_the_catch_up(api: Api) -> None:
    session_id = await api.create()
    assert await names(api, session_id) == ["session.state", "session.created"]


@pytest.mark.parametrize("beyond", [0, 7])
async def test_on_an_idle_session_with_nothing_to_catch_up_it_ends_at_once(
    beyond: int, api: Api
) -> None:
    session_id = await api.create()
    await api.turn(session_id, "hi")
    last_seq = (await api.session(session_id))["last_seq"]
    assert await names(api, session_id, after=last_seq + beyond) == ["session.state"]


async def test_on_an_idle_session_with_a_past_it_shows_all_turns_of_it(api: Api) -> None:
    session_id = await api.create()
    for _ in range(3):
        await api.turn(session_id, "hi")
    assert (await names(api, session_id)).count("turn.completed") == 3


async def test_it_ends_after_the_event_that_ends_the_turn(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    async with api.follow(session_id, until="idle") as frames:
        await read_until(frames, "tool.call")
        call.say("done")
        rest = [frame async for frame in frames]
    assert rest[-1].event == "turn.completed"
    assert rest[-1].data == (await api.events(session_id))[-1]


async def test_it_ends_after_an_interrupt(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    await desk.next_call()
    async with api.follow(session_id, until="idle") as frames:
        await read_until(frames, "tool.call")
        await api.http.post(f"/sessions/{session_id}/interrupt")
        assert [frame.event async for frame in frames][-1] == "turn.interrupted"


@pytest.mark.parametrize("joins", ["during the first turn", "from the beginning"])
async def test_a_queued_message_keeps_it_open_until_its_turn_has_ended(
    joins: str, api: Api, desk: Desk
) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    first = await desk.next_call()
    await api.send(session_id, "/call ask {}")
    after = (await api.session(session_id))["last_seq"] if joins.startswith("during") else 0
    async with api.follow(session_id, after=after, until="idle") as frames:
        await anext(frames)
        first.say("done")
        second = await desk.next_call()
        read = await read_until(frames, "turn.started", times=2 if after == 0 else 1)
        second.say("done as well")
        read += [frame async for frame in frames]
    assert [frame.event for frame in read].count("turn.completed") == 2
    assert read[-1].event == "turn.completed"


async def test_a_withdrawn_message_does_not_keep_it_open(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    queued = await api.send(session_id, "never")
    async with api.follow(session_id, until="idle") as frames:
        await read_until(frames, "tool.call")
        await api.http.delete(f"/sessions/{session_id}/messages/{queued['message_id']}")
        call.say("done")
        rest: list[Frame] = [frame async for frame in frames]
    assert [frame.event for frame in rest].count("turn.completed") == 1


async def test_on_a_closed_session_it_ends_with_the_closing(api: Api) -> None:
    session_id = await api.create()
    await api.turn(session_id, "hi")
    await api.http.post(f"/sessions/{session_id}/close")
    assert (await names(api, session_id))[-1] == "session.closed"
    last_seq = (await api.session(session_id))["last_seq"]
    assert await names(api, session_id, after=last_seq) == ["session.state"]


async def test_closing_during_a_turn_ends_it(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    await desk.next_call()
    async with api.follow(session_id, until="idle") as frames:
        await read_until(frames, "tool.call")
        async with asyncio.TaskGroup() as group:
            group.create_task(api.http.post(f"/sessions/{session_id}/close"))
            rest = [frame.event async for frame in frames]
    assert "turn.interrupted" in rest
