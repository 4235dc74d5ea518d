"""A follower that lost its place, for whatever reason, finds it again in the log."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from brain_testing.api import Api, Frame
from brain_testing.scripted_brain import ScriptedBrain
from brainapi.session.v1 import session_service_pb2 as pb

pytestmark = pytest.mark.asyncio(loop_scope="module")

Start = Callable[..., Awaitable[ScriptedBrain]]


async def take(frames: AsyncIterator[Frame], count: int) -> list[str | None]:
    async with asyncio.timeout(20):
        return [(await anext(frames)).id for _ in range(count)]


@pytest.mark.requirement("EVT-02")
async def test_after_a_gap_the_log_is_read(brain: ScriptedBrain, api: Api) -> None:
    brain.engine.add("s", 1)
    async with api.follow("s") as frames:
        assert await take(frames, 2) == [None, "1"]
        for _ in range(3):
            brain.engine.append("s")
        await brain.engine.gap("s")
        assert await take(frames, 3) == ["2", "3", "4"]
        await brain.engine.publish("s")
        assert await take(frames, 1) == ["5"]


@pytest.mark.requirement("EVT-02")
async def test_a_session_that_moves_is_followed(brain: ScriptedBrain, api: Api) -> None:
    brain.engine.add("s", 1)
    async with api.follow("s") as frames:
        assert await take(frames, 2) == [None, "1"]
        brain.engine.append("s")
        await brain.engine.ended("s", pb.END_REASON_MOVED)
        assert await take(frames, 1) == ["2"]
        await brain.engine.publish("s")
        assert await take(frames, 1) == ["3"]


@pytest.mark.requirement("EVT-02")
async def test_a_broken_watch_stream_is_opened_again(brain: ScriptedBrain, api: Api) -> None:
    brain.engine.add("s", 1)
    async with api.follow("s") as frames:
        assert await take(frames, 2) == [None, "1"]
        brain.engine.append("s")
        await brain.engine.break_streams()
        assert await take(frames, 1) == ["2"]


@pytest.mark.requirement("EVT-02")
async def test_a_stream_outlives_the_engine(start_scripted: Start) -> None:
    brain = await start_scripted()
    brain.engine.add("s", 1)
    async with Api(brain.url, "key-of-local") as api, api.follow("s") as frames:
        assert await take(frames, 2) == [None, "1"]
        await brain.stop_engine()
        brain.engine.append("s")
        await brain.start_engine()
        assert await take(frames, 1) == ["2"]
        await brain.engine.publish("s")
        assert await take(frames, 1) == ["3"]


@pytest.mark.requirement("EVT-05")
async def test_a_session_that_became_idle_meanwhile_ends_a_stream_until_idle(
    brain: ScriptedBrain, api: Api
) -> None:
    brain.engine.add("s", 1)
    async with api.follow("s", until="idle") as frames:
        assert await take(frames, 2) == [None, "1"]
        brain.engine.append("s", idle=True)
        brain.engine.idle = True
        await brain.engine.gap("s")
        assert [frame.id async for frame in frames] == ["2"]


async def test_a_session_that_was_deleted_meanwhile_ends_its_streams(
    brain: ScriptedBrain, api: Api
) -> None:
    brain.engine.add("s", 1)
    async with api.follow("s") as frames:
        assert await take(frames, 2) == [None, "1"]
        del brain.engine.logs["s"]
        await brain.engine.gap("s")
        assert [frame.id async for frame in frames] == []


@pytest.mark.requirement("EVT-04", "EVT-02")
async def test_a_slow_reader_gets_every_durable_event_from_the_log(start_scripted: Start) -> None:
    brain = await start_scripted(follower_max_frames=8, follower_max_bytes=256 * 1024)
    brain.engine.add("s", 1)
    reader, writer = await _slow_connection(brain.url)
    await brain.engine.until(lambda: brain.engine.asked(pb.ListEventsRequest) == 1)
    total = 300
    for _ in range(total - 2):
        await brain.engine.publish_live("s", size=1000)
        await brain.engine.publish("s", size=64 * 1024)
    await brain.engine.publish("s", idle=True)
    async with Api(brain.url, "key-of-local") as quick:
        brain.engine.idle = True  # for whoever joins from here on
        assert len(await quick.until_idle("s")) == total
    async with asyncio.timeout(40):
        received = await reader.read()
    writer.close()
    seen = [int(line[4:]) for line in received.split(b"\n") if line.startswith(b"id: ")]
    assert seen == list(range(1, total + 1))
    assert brain.engine.asked(pb.ListEventsRequest) > 3


async def _slow_connection(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A client that asked for a stream and takes hardly any of it until `read` is called."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)
    host, _, port = url.removeprefix("http://").partition(":")
    await asyncio.get_running_loop().sock_connect(client, (host, int(port)))
    reader, writer = await asyncio.open_connection(sock=client, limit=4096)
    writer.write(
        b"GET /sessions/s/events?until=idle HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        b"Accept: text/event-stream\r\nAuthorization: Bearer key-of-local\r\n\r\n"
    )
    return reader, writer
