"""Following a session: from the log into what happens now, without a gap or a repeat."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from google.protobuf.message import Message

from brain_testing.api import Api, Frame
from brain_testing.scripted_brain import ScriptedBrain
from brainapi.session.v1 import session_pb2
from brainapi.session.v1 import session_service_pb2 as pb

pytestmark = pytest.mark.asyncio(loop_scope="module")

Start = Callable[..., Awaitable[ScriptedBrain]]
SSE = {"Accept": "text/event-stream"}


async def take(frames: AsyncIterator[Frame], count: int) -> list[str | None]:
    """The ids of the next frames."""
    async with asyncio.timeout(20):
        return [(await anext(frames)).id for _ in range(count)]


def ids(first: int, last: int) -> list[str]:
    return [str(seq) for seq in range(first, last + 1)]


@pytest.mark.requirement("EVT-02", "EVT-03")
async def test_a_stream_catches_up_and_then_follows(brain: ScriptedBrain, api: Api) -> None:
    brain.engine.add("s", 450)
    async with api.follow("s") as frames:
        state = await anext(frames)
        assert (state.id, state.event) == (None, "session.state")
        assert state.data["data"] == {"status": "running", "last_seq": 450}
        assert "seq" not in state.data
        assert await take(frames, 450) == ids(1, 450)
        await brain.engine.publish("s")
        await brain.engine.publish_live("s")
        await brain.engine.publish("s")
        assert await take(frames, 3) == ["451", None, "452"]


@pytest.mark.requirement("EVT-03")
async def test_the_headers_keep_proxies_from_holding_a_stream_back(
    brain: ScriptedBrain, api: Api
) -> None:
    brain.engine.add("s")
    async with api.http.stream("GET", "/sessions/s/events", headers=SSE) as answer:
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-accel-buffering"] == "no"
        lines = answer.aiter_lines()
        assert (await anext(lines)).startswith(":")
        got = [await anext(lines) for _ in range(8)]
    assert got[1] == "event: session.state"
    assert got[4:] == [
        "id: 1",
        "event: test.durable",
        'data: {"seq":1,"type":"test.durable","session_id":"s","data":{"pad":""}}',
        "",
    ]


@pytest.mark.requirement("EVT-03")
async def test_a_quiet_stream_shows_that_it_is_alive(start_scripted: Start) -> None:
    brain = await start_scripted(heartbeat_seconds=0.01)
    brain.engine.add("s", 0)
    async with (
        Api(brain.url, "key-of-local") as api,
        asyncio.timeout(20),
        api.http.stream("GET", "/sessions/s/events", headers=SSE) as answer,
    ):
        comments = 0
        async for line in answer.aiter_lines():
            comments += line.startswith(":")
            if comments == 5:
                break


@pytest.mark.requirement("EVT-03")
async def test_the_usual_beat_is_well_within_15_seconds(brain: ScriptedBrain) -> None:
    assert brain.settings.heartbeat_seconds <= 12


@pytest.mark.requirement("EVT-02")
@pytest.mark.parametrize(
    ("after", "last_event_id", "first"),
    [(None, None, 1), (2, None, 3), (None, "4", 5), (2, "4", 5), (4, "0", 1)],
)
async def test_last_event_id_works_like_after_and_wins(
    brain: ScriptedBrain, api: Api, after: int | None, last_event_id: str | None, first: int
) -> None:
    brain.engine.add("s", 6)
    params = {} if after is None else {"after": after}
    async with api.follow("s", last_event_id=last_event_id, **params) as frames:
        assert await take(frames, 8 - first) == [None, *ids(first, 6)]
    headers = {} if last_event_id is None else {"Last-Event-ID": last_event_id}
    page = await api.http.get("/sessions/s/events", params=params, headers=headers)
    assert [event["seq"] for event in page.json()["events"]] == list(range(first, 7))


@pytest.mark.requirement("EVT-02")
@pytest.mark.parametrize("value", ["", "x", "-1", "1.0", "9223372036854775808"])
async def test_a_wrong_last_event_id_is_422(api: Api, value: str) -> None:
    headers = {**SSE, "Last-Event-ID": value}
    answer = await api.http.get("/sessions/s/events", headers=headers)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/header/last-event-id"


@pytest.mark.requirement("EVT-02")
@pytest.mark.parametrize(
    ("accept", "streams"),
    [
        ("text/event-stream", True),
        ("TEXT/Event-Stream;charset=utf-8", True),
        ("text/*", True),
        ("application/json;q=0.5, text/event-stream;q=0.9", True),
        ("text/event-stream, */*", True),
        ("text/event-stream, */*;q=0.1", True),
        ("*/*, text/event-stream;q=0.5", False),
        ("application/json, text/event-stream", False),
        ("text/event-stream;q=0.5, application/json;q=0.6", False),
        ("text/event-stream;q=0", False),
        ("text/event-stream;q=high", False),
        ("*/*", False),
        ("", False),
        ("nonsense", False),
        ("text/html", False),
    ],
)
async def test_accept_decides_between_page_and_stream(
    brain: ScriptedBrain, api: Api, accept: str, streams: bool
) -> None:
    brain.engine.add("s")
    path = "/sessions/s/events"
    async with api.http.stream("GET", path, headers={"Accept": accept}) as answer:
        kind = answer.headers["content-type"]
    assert kind.startswith("text/event-stream") == streams


@pytest.mark.requirement("EVT-02")
async def test_a_page_is_the_engines_bytes_joined(brain: ScriptedBrain, api: Api) -> None:
    brain.engine.add("s", 5)
    page = (await api.http.get("/sessions/s/events?after=1&limit=2&until=idle")).text
    joined = b",".join(event.json for event in brain.engine.logs["s"][1:3]).decode()
    assert page == f'{{"events":[{joined}],"next_after":3,"has_more":true}}'
    rest = (await api.http.get("/sessions/s/events?after=5")).json()
    assert rest == {"events": [], "next_after": 5, "has_more": False}


@pytest.mark.requirement("EVT-02")
async def test_a_stream_on_a_missing_session_is_404(api: Api) -> None:
    answer = await api.http.get("/sessions/none/events", headers=SSE)
    assert answer.status_code == 404


async def test_an_engine_that_never_answers_is_503(start_scripted: Start) -> None:
    brain = await start_scripted(join_timeout_seconds=0.05)
    brain.engine.add("s")
    brain.engine.deaf = True
    async with Api(brain.url, "key-of-local") as api:
        answer = await api.http.get("/sessions/s/events", headers=SSE)
    assert answer.status_code == 503


@pytest.mark.requirement("EVT-05")
async def test_until_idle_ends_at_once_after_the_catch_up_on_an_idle_session(
    brain: ScriptedBrain, api: Api
) -> None:
    brain.engine.add("s", 3)
    brain.engine.idle = True
    assert [event["seq"] for event in await api.until_idle("s")] == [1, 2, 3]
    assert await api.until_idle("s", after=3) == []
    assert await api.until_idle("s", after=99) == []


@pytest.mark.requirement("EVT-05")
async def test_until_idle_ends_after_the_event_that_makes_the_session_idle(
    brain: ScriptedBrain, api: Api
) -> None:
    brain.engine.add("s", 2)
    async with api.follow("s", until="idle") as frames:
        assert await take(frames, 3) == [None, "1", "2"]
        await brain.engine.publish("s")
        await brain.engine.publish("s", idle=True)
        await brain.engine.publish("s")
        assert [frame.id async for frame in frames] == ["3", "4"]


@pytest.mark.requirement("EVT-05")
async def test_an_earlier_idle_moment_in_the_log_does_not_end_the_stream(
    brain: ScriptedBrain, api: Api
) -> None:
    brain.engine.add("s", 1)
    brain.engine.append("s", idle=True)
    brain.engine.append("s")
    async with api.follow("s", until="idle") as frames:
        assert await take(frames, 4) == [None, "1", "2", "3"]
        await brain.engine.publish("s", idle=True)
        assert [frame.id async for frame in frames] == ["4"]


async def test_events_up_to_after_are_never_shown(brain: ScriptedBrain, api: Api) -> None:
    brain.engine.add("s", 2)
    async with api.follow("s", after=4) as frames:
        assert await take(frames, 1) == [None]
        for _ in range(3):
            await brain.engine.publish("s")
        assert await take(frames, 1) == ["5"]


async def test_a_stream_on_a_closed_session_ends_after_the_catch_up(
    brain: ScriptedBrain, api: Api
) -> None:
    brain.engine.add("s", 3)
    brain.engine.status = session_pb2.SESSION_STATUS_CLOSED
    async with api.follow("s") as frames:
        assert [frame.id async for frame in frames] == [None, "1", "2", "3"]


@pytest.mark.parametrize("reason", [pb.END_REASON_CLOSED, pb.END_REASON_DELETED])
async def test_a_stream_ends_when_its_session_does(
    brain: ScriptedBrain, api: Api, reason: pb.EndReason.ValueType
) -> None:
    brain.engine.add("s", 1)
    async with api.follow("s") as frames:
        assert await take(frames, 2) == [None, "1"]
        await brain.engine.publish("s")
        await brain.engine.ended("s", reason)
        assert [frame.id async for frame in frames] == ["2"]


@pytest.mark.requirement("EVT-06")
async def test_many_readers_share_one_stream_and_see_the_same(
    brain: ScriptedBrain, api: Api
) -> None:
    brain.engine.add("s", 4)

    async def read(after: int) -> list[str | None]:
        async with api.follow("s", after=after, until="idle") as frames:
            return [frame.id async for frame in frames if frame.id]

    readers = [asyncio.create_task(read(number % 5)) for number in range(20)]
    await brain.engine.until(lambda: _subscriptions(brain) == len(readers))
    for _ in range(10):
        await brain.engine.publish_live("s")
        await brain.engine.publish("s")
    await brain.engine.publish("s", idle=True)
    seen = await asyncio.gather(*readers)
    assert seen == [ids(number % 5 + 1, 15) for number in range(20)]
    assert len(brain.engine.streams) == 1


def _subscriptions(brain: ScriptedBrain) -> int:
    return sum(
        isinstance(request, pb.WatchEventsRequest) and request.HasField("subscribe")
        for request in brain.engine.requests
    )


async def test_readers_of_different_sessions_do_not_mix(brain: ScriptedBrain, api: Api) -> None:
    for name in ("a", "b"):
        brain.engine.add(name, 1)
    async with api.follow("a") as of_a, api.follow("b") as of_b:
        assert await take(of_a, 2) == await take(of_b, 2)
        await brain.engine.publish("a")
        await brain.engine.publish("b")
        assert (await anext(of_a)).data["session_id"] == "a"
        assert (await anext(of_b)).data["session_id"] == "b"


async def test_a_reader_that_leaves_is_unsubscribed(start_scripted: Start) -> None:
    brain = await start_scripted()
    brain.engine.add("s", 1)
    async with Api(brain.url, "key-of-local") as api:
        async with api.follow("s") as frames:
            await take(frames, 2)
        await brain.engine.until(lambda: _unsubscribed(brain.engine.requests))
        async with api.follow("s") as frames:
            assert await take(frames, 2) == [None, "1"]


def _unsubscribed(requests: list[Any]) -> bool:
    return any(
        isinstance(request, pb.WatchEventsRequest) and request.HasField("unsubscribe")
        for request in requests
    )


async def test_an_open_stream_does_not_hold_up_the_end_of_the_server(
    start_scripted: Start,
) -> None:
    brain = await start_scripted()
    brain.engine.add("s", 1)
    async with Api(brain.url, "key-of-local") as api, api.follow("s") as frames:
        assert await take(frames, 2) == [None, "1"]
        brain.stop_edge()
        async with asyncio.timeout(20):
            assert [frame.id async for frame in frames] == []
            await brain.stopped()


async def test_a_stream_ends_with_its_connection_though_another_request_waits_behind_it(
    brain: ScriptedBrain,
) -> None:
    brain.engine.add("s")
    host, _, port = brain.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    key = "Authorization: Bearer key-of-local\r\n"
    stream = f"GET /sessions/s/events HTTP/1.1\r\nHost: b\r\n{key}Accept: text/event-stream\r\n\r\n"
    writer.write(stream.encode() + b"GET /healthz HTTP/1.1\r\nHost: b\r\n\r\n")
    async with asyncio.timeout(20):
        await reader.readuntil(b"id: 1")
    writer.close()

    def left(request: Message) -> bool:
        return isinstance(request, pb.WatchEventsRequest) and request.HasField("unsubscribe")

    await brain.engine.until(lambda: any(map(left, brain.engine.requests)))
