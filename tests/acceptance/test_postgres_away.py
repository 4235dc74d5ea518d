"""Postgres goes away and comes back while Brain is at work on it."""

import asyncio
from collections.abc import Callable

import pytest

from brain_testing.api import Api
from brain_testing.desk import Desk
from brain_testing.plugin import StartBrain
from brain_testing.postgres import PostgresServer
from brain_testing.reading import of_type, read_until, said, types
from brain_testing.running import RunningBrain

pytestmark = [
    pytest.mark.requirement("REC-01", "REC-03", "API-01"),
    pytest.mark.xdist_group("commands"),
]


@pytest.fixture
async def brain(start_brain: StartBrain, desk: Desk, own_server: PostgresServer) -> RunningBrain:
    """A Brain with one tool, `ask`, on a Postgres that the test may stop."""
    store = {"store_env": "STORE"}
    env = {"STORE": own_server.url("postgres")}
    return await start_brain(tools=[desk.binding("ask")], extra=store, env=env)


@pytest.fixture
def api(brain: RunningBrain, connect: Callable[..., Api]) -> Api:
    """The one tenant's view of it."""
    return connect(brain)


async def test_what_cannot_be_kept_is_refused_and_what_was_kept_is_there_again(
    api: Api, own_server: PostgresServer
) -> None:
    session_id = await api.create()
    before = await api.turn(session_id, "hello")
    await asyncio.to_thread(own_server.stop)
    sent = await api.http.post(f"/sessions/{session_id}/messages", json={"content": "lost"})
    read = await api.http.get(f"/sessions/{session_id}/events")

    for answer in (sent, read):
        assert answer.status_code == 503
        assert answer.headers["content-type"] == "application/problem+json"
        assert not any(word in answer.text for word in ("Postgres", str(own_server.folder)))
    await asyncio.to_thread(own_server.start)
    await api.until_ready()
    assert await api.events(session_id, after=1) == before
    assert said(await api.turn(session_id, "again")) == "You said: again"


async def test_a_call_in_flight_while_postgres_starts_again_keeps_its_result(
    api: Api, desk: Desk, own_server: PostgresServer
) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    await asyncio.to_thread(own_server.stop)
    call.say("done meanwhile")
    await asyncio.to_thread(own_server.start)
    events = await api.until_idle(session_id)

    (result,) = of_type(events, "tool.result")
    assert result["is_error"] is False
    assert said(events) == "done meanwhile"
    assert "turn.recovered" not in types(events)
    assert len(desk.arrived) == 1


async def test_followers_miss_and_repeat_nothing(api: Api, own_server: PostgresServer) -> None:
    session_id = await api.create()
    async with api.follow(session_id) as frames:
        await api.turn(session_id, "one")
        await asyncio.to_thread(own_server.stop, crash=True)
        await asyncio.to_thread(own_server.start)
        await api.turn(session_id, "two")
        frames_seen = await read_until(frames, "turn.completed", 2)

    seen = [frame.data for frame in frames_seen if frame.id is not None]
    assert seen == await api.events(session_id)
