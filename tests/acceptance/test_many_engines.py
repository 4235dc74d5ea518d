"""Two engines and two edges on one Postgres: any edge serves any session, whoever dies."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from brain_testing.api import Api, Frame, Json
from brain_testing.cluster import Cluster, ClusterEngine, running_cluster
from brain_testing.desk import Desk
from brain_testing.postgres import PostgresServer
from brain_testing.reading import of_type, only, read_until, said, types

pytestmark = [pytest.mark.requirement("REC-05"), pytest.mark.xdist_group("commands")]

PATIENCE = 25
ENGINES = ("one", "two")


@pytest.fixture
async def cluster(postgres_server: PostgresServer, desk: Desk) -> AsyncGenerator[Cluster]:
    """Two engines, which made the tables of an empty database at once, and two edges."""
    store = postgres_server.url(await postgres_server.database())
    async with running_cluster(store, [desk.binding("ask")]) as opened:
        yield opened


async def with_open_call(cluster: Cluster, desk: Desk) -> tuple[str, ClusterEngine, list[Json]]:
    """A session with a call in flight and a message that waits, its owner, its events so far."""
    here, there = cluster.edges
    session_id = await here.create("ask")
    await here.send(session_id, "/call ask {}")
    await desk.next_call()
    await there.send(session_id, "and then?")
    name = await cluster.owner(session_id)
    return session_id, cluster.engine(name), await there.events(session_id)


@asynccontextmanager
async def followed(cluster: Cluster, session_id: str) -> AsyncGenerator[list[AsyncIterator[Frame]]]:
    """The session's stream through each edge, from the beginning."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(api.follow(session_id)) for api in cluster.edges]


async def patiently(api: Api, session_id: str, content: str) -> Json:
    """Send a message as clients do: again for as long as the answer is 503."""
    async with asyncio.timeout(PATIENCE):
        while True:
            answer = await api.http.post(
                f"/sessions/{session_id}/messages", json={"content": content}
            )
            if answer.status_code != 503:
                assert answer.status_code == 202, answer.text
                return answer.json()
            assert answer.headers["Retry-After"]
            await asyncio.sleep(0.1)


async def durable(streams: list[AsyncIterator[Frame]], turns: int) -> list[list[Json]]:
    """The durable events of each stream until so many turns are completed."""
    async with asyncio.timeout(PATIENCE):
        read = [read_until(frames, "turn.completed", turns) for frames in streams]
        return [
            [frame.data for frame in frames if frame.id is not None]
            for frames in await asyncio.gather(*read)
        ]


@pytest.mark.requirement("API-03")
async def test_any_edge_serves_any_session_of_any_engine(cluster: Cluster, desk: Desk) -> None:
    here, there = cluster.edges
    sessions = [await (here, there)[number % 2].create("ask") for number in range(8)]
    owners = {session_id: await cluster.owner(session_id) for session_id in sessions}
    assert set(owners.values()) == set(ENGINES)

    for session_id in sessions:
        for api, text in ((here, "hello"), (there, "again")):
            assert said(await api.turn(session_id, text)) == f"You said: {text}"
    assert owners == {session_id: await cluster.owner(session_id) for session_id in sessions}
    for session_id in sessions[:4]:
        await here.send(session_id, "/call ask {}")
        await desk.next_call()
        ended = await there.http.post(f"/sessions/{session_id}/interrupt")
        assert ended.json()["interrupted"] is True
        assert await here.events(session_id) == await there.events(session_id)
    listed = [(await api.http.get("/sessions")).json() for api in cluster.edges]
    assert listed[0] == listed[1]
    assert {each["id"] for each in listed[0]["sessions"]} == set(sessions)
    await takes_effect_once(cluster)


async def takes_effect_once(cluster: Cluster) -> None:
    """Requests with one key, through both edges and so to both engines, make one session."""
    body = {"harness": "pi", "config": {"model": "demo/script"}}
    key = {"Idempotency-Key": "make"}
    posts = [api.http.post("/sessions", json=body, headers=key) for api in cluster.edges * 4]
    answers = await asyncio.gather(*posts)
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1


@pytest.mark.requirement("REC-02", "OUT-07", "EVT-06", "TOOL-05")
async def test_another_engine_takes_over_when_the_owner_is_killed(
    cluster: Cluster, desk: Desk
) -> None:
    session_id, owner, before = await with_open_call(cluster, desk)
    async with followed(cluster, session_id) as streams:
        killed = time.monotonic()
        await owner.kill()
        seen = await durable(streams, 2)
    took = time.monotonic() - killed
    print(f"Taken over and gone on with after {took:.1f} s.")  # noqa: T201 - for whoever wonders
    events = await cluster.edges[0].events(session_id)

    assert seen == [events, events]
    assert events[: len(before)] == before
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert only(events, "tool.result")["code"] == "engine_died"
    assert len(desk.arrived) == 1
    assert said(events) == "You said: and then?"
    assert {await cluster.owner(session_id), owner.name} == set(ENGINES)


async def test_an_idle_session_of_an_engine_that_was_killed_is_served_by_another(
    cluster: Cluster,
) -> None:
    here, there = cluster.edges
    session_id = await here.create()
    before = await here.turn(session_id, "hello")
    owner = cluster.engine(await cluster.owner(session_id))
    await owner.kill()
    assert await there.events(session_id, after=1) == before, "reading needs no owner"
    sent = await patiently(there, session_id, "again")
    assert said(await here.until_idle(session_id, after=sent["seq"])) == "You said: again"
    assert types(await here.events(session_id)).count("message.user") == 2


@pytest.mark.requirement("REC-04", "EVT-06")
async def test_an_engine_that_is_told_to_stop_leaves_its_sessions_to_the_others_at_once(
    cluster: Cluster, desk: Desk
) -> None:
    session_id, owner, before = await with_open_call(cluster, desk)
    idle = await idle_of(cluster, owner.name)
    async with followed(cluster, session_id) as streams:
        assert await owner.stop() == 0
        left = "SELECT count(*) FROM brain.engines"
        assert await cluster.ask(left) == 1, "no lease is left that others would have to wait for"
        assert said(await cluster.edges[1].turn(idle, "at once")) == "You said: at once"
        seen = await durable(streams, 2)
    events = await cluster.edges[0].events(session_id)

    assert seen == [events, events]
    assert events[: len(before)] == before
    assert only(events, "tool.result")["code"] == "engine_died"
    assert len(desk.arrived) == 1


async def idle_of(cluster: Cluster, name: str) -> str:
    """An idle session that this engine owns."""
    async with asyncio.timeout(PATIENCE):
        while True:
            session_id = await cluster.edges[0].create()
            if await cluster.owner(session_id) == name:
                return session_id


@pytest.mark.requirement("REC-02", "TOOL-05", "EVT-06")
async def test_an_owner_that_stood_still_for_too_long_appends_nothing_any_more(
    cluster: Cluster, desk: Desk
) -> None:
    session_id, owner, before = await with_open_call(cluster, desk)
    async with followed(cluster, session_id) as streams:
        owner.pause()
        seen = await durable(streams, 2)
        taken_over = await cluster.edges[0].events(session_id)
        desk.arrived[0].say("to whoever still waits for it")
        owner.unpause()
        await until_noticed(cluster, owner)
    assert seen == [taken_over, taken_over]
    assert taken_over[: len(before)] == before
    for api in cluster.edges:
        assert said(await api.turn(session_id, "and now?")) == "You said: and now?"
    events = await cluster.edges[1].events(session_id)

    assert events[: len(taken_over)] == taken_over
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert only(events, "tool.result")["code"] == "engine_died"
    assert len(desk.arrived) == 1
    assert {await cluster.owner(session_id), owner.name} == set(ENGINES)


async def until_noticed(cluster: Cluster, engine: ClusterEngine) -> None:
    """Until an engine knows that it has lost its lease, and is at work again under another."""
    async with asyncio.timeout(PATIENCE):
        while await cluster.ask("SELECT count(*) FROM brain.engines") != len(ENGINES):
            await asyncio.sleep(0.05)
        while "lease_lost" not in cluster.said(engine.name):
            await asyncio.sleep(0.05)
    await engine.serving()


async def test_an_edge_that_ends_takes_nothing_with_it(cluster: Cluster, desk: Desk) -> None:
    here, there = cluster.edges
    session_id = await here.create("ask")
    await here.send(session_id, "/call ask {}")
    call = await desk.next_call()
    async with here.follow(session_id) as frames:
        *_, last = await read_until(frames, "tool.call")
    await cluster.stop_edge(here)
    call.say("done")
    async with there.follow(session_id, last_event_id=last.id, until="idle") as frames:
        rest = [frame.data async for frame in frames if frame.id is not None]
    events = await there.events(session_id)
    assert rest == events[int(last.id or 0) :]
    assert of_type(events, "tool.result")[0]["is_error"] is False


async def test_engines_come_and_go_while_clients_go_on(cluster: Cluster) -> None:
    """Each engine is replaced in turn, as an upgrade does it; clients only ever see a 503."""
    sessions = [await cluster.edges[number % 2].create() for number in range(6)]
    for name in ENGINES:
        assert await cluster.engine(name).stop() == 0
        for number, session_id in enumerate(sessions):
            api = cluster.edges[number % 2]
            sent = await patiently(api, session_id, name)
            events = await api.until_idle(session_id, after=sent["seq"])
            assert said(events) == f"You said: {name}"
        await cluster.start_engines(name)
    for session_id in sessions:
        events = await cluster.edges[0].events(session_id)
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert types(events).count("turn.completed") == len(ENGINES)
