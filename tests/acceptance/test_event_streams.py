"""Events as a stream: its bytes, where it begins, and that nothing is missed or doubled."""

import asyncio
import json

import pytest

from brain_testing.api import Api, Frame
from brain_testing.desk import Desk, DeskCall
from brain_testing.reading import read_until


async def read_all(api: Api, session_id: str, after: int, joined: asyncio.Event) -> list[Frame]:
    """Everything that a follower gets from `after` on until the session is idle."""
    read: list[Frame] = []
    async with api.follow(session_id, last_event_id=str(after), until="idle") as frames:
        async for frame in frames:
            read.append(frame)
            joined.set()
    return read


def durable(frames: list[Frame]) -> list[Frame]:
    return [frame for frame in frames if frame.id is not None]


async def busy_session(api: Api, desk: Desk) -> tuple[str, DeskCall]:
    """A session with a past, in the middle of a turn."""
    session_id = await api.create("ask")
    await api.turn(session_id, "one two three")
    await api.turn(session_id, "four five six")
    await api.send(session_id, "/call ask {}")
    return session_id, await desk.next_call()


@pytest.mark.requirement("EVT-03")
async def test_the_headers_keep_proxies_and_caches_from_holding_it_back(api: Api) -> None:
    session_id = await api.create()
    request = api.http.stream(
        "GET", f"/sessions/{session_id}/events", headers={"Accept": "text/event-stream"}
    )
    async with request as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-accel-buffering"] == "no"
        assert "content-encoding" not in answer.headers


@pytest.mark.requirement("EVT-03")
async def test_an_event_in_the_stream_is_an_id_a_name_and_one_line_of_data(api: Api) -> None:
    session_id = await api.create()
    await api.turn(session_id, "two\nlines\u2028and\u0085more")
    answer = await api.http.get(
        f"/sessions/{session_id}/events",
        params={"until": "idle"},
        headers={"Accept": "text/event-stream"},
    )
    blocks = [b for b in answer.text.split("\n\n") if b and not b.startswith(":")]
    live, *rest = (block.split("\n") for block in blocks)
    assert live[0] == "event: session.state"
    assert live[1].startswith("data: {")
    assert len(live) == 2
    for seq, (identity, event, data) in enumerate(rest, start=1):
        envelope = json.loads(data.removeprefix("data: "))
        assert identity == f"id: {seq}"
        assert event == f"event: {envelope['type']}"
        assert envelope["seq"] == seq


@pytest.mark.requirement("EVT-03")
async def test_a_stream_begins_with_where_the_session_stands(api: Api, desk: Desk) -> None:
    session_id, call = await busy_session(api, desk)
    last_seq = (await api.session(session_id))["last_seq"]
    async with api.follow(session_id, after=last_seq) as frames:
        first = await anext(frames)
        assert (first.event, first.id) == ("session.state", None)
        assert "seq" not in first.data
        assert first.data["session_id"] == session_id
        assert first.data["data"] == {"status": "running", "last_seq": last_seq}
        call.say("done")
        await read_until(frames, "turn.completed")


@pytest.mark.requirement("EVT-03")
async def test_live_only_events_have_no_id_and_are_not_in_the_log(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    async with api.follow(session_id) as frames:
        await api.send(session_id, "/call ask {}")
        call = await desk.next_call()
        await call.progress({"half": True})
        await call.result("done")
        read = await read_until(frames, "turn.completed")
    live = {frame.event for frame in read if frame.id is None}
    assert live == {"session.state", "message.delta", "tool.progress"}
    assert all("seq" not in frame.data for frame in read if frame.id is None)
    assert [frame.data for frame in durable(read)] == await api.events(session_id)


@pytest.mark.requirement("EVT-03")
async def test_a_quiet_stream_carries_comments(api: Api) -> None:
    session_id = await api.create()
    request = api.http.stream(
        "GET", f"/sessions/{session_id}/events", headers={"Accept": "text/event-stream"}
    )
    async with request as answer:
        async for line in answer.aiter_lines():
            if line.startswith(":"):
                return
    raise AssertionError("no comment came")


@pytest.mark.requirement("EVT-01", "EVT-02", "EVT-06")
async def test_a_follower_from_any_event_in_the_middle_of_a_turn_misses_and_repeats_nothing(
    api: Api, desk: Desk
) -> None:
    session_id, call = await busy_session(api, desk)
    last_seq = (await api.session(session_id))["last_seq"]
    starts = range(last_seq + 1)
    joined = [asyncio.Event() for _ in starts]
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(read_all(api, session_id, after, joined[after])) for after in starts
        ]
        for event in joined:
            await event.wait()
        await call.progress({"half": True})
        await call.result("done")
    whole = await api.events(session_id)
    assert len(whole) > last_seq
    for after, task in zip(starts, tasks, strict=True):
        read = durable(task.result())
        assert [frame.id for frame in read] == [str(event["seq"]) for event in whole[after:]]
        assert [frame.data for frame in read] == whole[after:]


@pytest.mark.requirement("EVT-02", "EVT-06")
async def test_followers_that_join_while_events_come_miss_and_repeat_nothing(
    api: Api, desk: Desk
) -> None:
    session_id, call = await busy_session(api, desk)
    last_seq = (await api.session(session_id))["last_seq"]
    for number in range(20):
        await api.send(session_id, f"message {number}")
    async with asyncio.TaskGroup() as group:
        call.say("done")
        tasks = [
            group.create_task(read_all(api, session_id, after, asyncio.Event()))
            for after in range(last_seq + 1)
        ]
    whole = await api.events(session_id)
    for after, task in enumerate(tasks):
        assert [frame.data for frame in durable(task.result())] == whole[after:]


@pytest.mark.requirement("EVT-06")
async def test_twenty_followers_at_once_see_the_same(api: Api, desk: Desk) -> None:
    session_id, call = await busy_session(api, desk)
    joined = [asyncio.Event() for _ in range(20)]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(read_all(api, session_id, 0, event)) for event in joined]
        for event in joined:
            await event.wait()
        await call.progress({"half": True})
        await call.result("a few words for everyone")
    whole = await api.events(session_id)
    for task in tasks:
        assert [frame.data for frame in durable(task.result())] == whole


@pytest.mark.requirement("EVT-02")
async def test_last_event_id_wins_over_after(api: Api) -> None:
    session_id = await api.create()
    whole = await api.turn(session_id, "hi")
    async with api.follow(session_id, last_event_id="3", after=1, until="idle") as frames:
        read = [frame async for frame in frames]
    assert [frame.data for frame in durable(read)] == [e for e in whole if e["seq"] > 3]


@pytest.mark.requirement("EVT-02")
@pytest.mark.parametrize("accept", ["application/json", "*/*", ""])
async def test_only_who_asks_for_a_stream_gets_one(accept: str, api: Api) -> None:
    session_id = await api.create()
    answer = await api.http.get(f"/sessions/{session_id}/events", headers={"Accept": accept})
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["has_more"] is False


@pytest.mark.requirement("SES-04", "EVT-02")
async def test_the_last_event_of_a_stream_says_that_the_session_was_closed(api: Api) -> None:
    session_id = await api.create()
    async with api.follow(session_id) as frames:
        await read_until(frames, "session.created")
        await api.http.post(f"/sessions/{session_id}/close")
        assert [frame.event async for frame in frames] == ["session.closed"]
