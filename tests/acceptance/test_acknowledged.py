"""What was answered 2xx is on the disk before that: for every request that changes anything.

The engine is stopped dead as soon as an answer has come, and what a power cut would leave then is
looked at: what was written and not synced isn't in it.
"""

import asyncio
import json
import shutil
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from brain.engine.log.postgres import open_postgres
from brain.engine.log.protocol import EventLog
from brain.engine.log.sqlite import open_sqlite
from brain_testing.api import Api, Json
from brain_testing.desk import Desk
from brain_testing.engine_process import EngineProcess, engine_process
from brain_testing.model_stage import model_stage
from brain_testing.plugin import StartBrain
from brain_testing.postgres import PostgresServer
from brain_testing.reading import of_type, only, read_until, types
from brain_testing.running import RunningBrain
from brain_testing.scripted_model import ScriptedModel, text

pytestmark = [pytest.mark.requirement("REC-01", "EVT-01"), pytest.mark.xdist_group("commands")]

Look = Callable[[], Awaitable[dict[str, list[Json]]]]
"""Gives the events of each session, by its id, as they are left."""


class Client:
    """Sends requests that change something; `left` is what is left as soon as one is answered."""

    def __init__(self, api: Api, look: Look) -> None:
        self._http = api.http
        self._look = look
        self.left: dict[str, list[Json]] = {}

    async def request(self, method: str, path: str, body: Json | None = None) -> Json:
        """The answer, which must be good."""
        answer = await self._http.request(method, path, json=body)
        self.left = await self._look()
        assert answer.is_success, answer.text
        return answer.json() if answer.content else {}

    async def post(self, path: str, body: Json | None = None) -> Json:
        return await self.request("POST", path, body)


async def change_everything(client: Client, desk: Desk) -> None:
    """A request of each kind."""
    config = {"model": "demo/script", "tools": ["ask"]}
    session = (await client.post("/sessions", {"harness": "pi", "config": config}))["id"]
    path = f"/sessions/{session}"
    assert types(client.left[session]) == ["session.created"]

    first = await client.post(f"{path}/messages", {"content": "/call ask {}"})
    assert types(client.left[session])[1:3] == ["message.user", "turn.started"]
    assert client.left[session][1]["data"]["message_id"] == first["message_id"]
    assert client.left[session][1]["seq"] == first["seq"]
    await desk.next_call()
    for delivery in ("queue", "steer"):
        sent = await client.post(f"{path}/messages", {"content": "hi", "delivery": delivery})
        assert of_type(client.left[session], "message.user")[-1]["message_id"] == sent["message_id"]
        await client.request("DELETE", f"{path}/messages/{sent['message_id']}")
        withdrawn = of_type(client.left[session], "message.withdrawn")[-1]
        assert withdrawn["message_id"] == sent["message_id"]
    ended = await client.post(f"{path}/interrupt")
    assert ended["interrupted"] is True
    assert types(client.left[session])[-1] == "turn.interrupted"
    await client.post(f"{path}/close")
    assert types(client.left[session])[-1] == "session.closed"
    await client.request("DELETE", path)
    assert session not in client.left


async def contents(log: EventLog) -> dict[str, list[Json]]:
    """All events of the tenant's sessions."""
    page = await log.list_sessions("local", 100, None, None)
    found = {each.id: await log.read(each.id, 0, 1000) for each in page.sessions}
    return {each: [json.loads(event.body) for event in found[each].events] for each in found}


@asynccontextmanager
async def on_a_synced_disk(
    brain: RunningBrain, api: Api
) -> AsyncGenerator[tuple[EngineProcess, Path]]:
    """An engine, and the folder that holds what would outlive a power cut, at any moment."""
    synced = brain.folder / "synced"
    synced.mkdir()
    command = ("-m", "brain_testing.synced_disk", str(brain.folder / "brain.db"), str(synced))
    await brain.stop_engine()
    for part in brain.folder.glob("brain.db*"):
        part.unlink()
    async with engine_process(brain, api, command) as engine:
        yield engine, synced


def looking(engine: EngineProcess, synced: Path) -> Look:
    """Look at what a power cut would leave now."""

    async def look() -> dict[str, list[Json]]:
        left = synced.with_name("left")
        with engine.paused():
            shutil.copytree(synced, left)
        log = await open_sqlite(left / "brain.db")
        try:
            return await contents(log)
        finally:
            await log.close()
            shutil.rmtree(left)

    return look


async def test_each_request_is_synced_before_it_is_answered(
    brain: RunningBrain, api: Api, desk: Desk
) -> None:
    async with on_a_synced_disk(brain, api) as (engine, synced):
        await change_everything(Client(api, looking(engine, synced)), desk)


async def test_a_compaction_on_request_is_committed_before_it_is_answered() -> None:
    async with model_stage(ScriptedModel(otherwise=text("NOTES"))) as (stage, _):
        session_id = await stage.create()
        for letter in "abc":
            await stage.api.turn(session_id, letter * 36_000)
        async with stage.api.http.stream("POST", f"/sessions/{session_id}/compact") as answer:
            with closing(sqlite3.connect(stage.brain.folder / "brain.db")) as another:
                last = "SELECT type FROM events ORDER BY rowid DESC LIMIT 1"
                assert another.execute(last).fetchone() == ("context.compacted",)
            assert answer.status_code == 200


@pytest.mark.requirement("REC-02", "API-03", "EVT-06")
async def test_all_that_was_answered_or_shown_outlives_a_power_cut_and_goes_on(
    brain: RunningBrain, api: Api, desk: Desk
) -> None:
    body = {"harness": "pi", "config": {"model": "demo/script", "tools": ["ask"]}}
    key = {"Idempotency-Key": "make"}
    async with on_a_synced_disk(brain, api) as (engine, synced):
        made = await api.http.post("/sessions", json=body, headers=key)
        session_id = made.json()["id"]
        async with api.follow(session_id) as frames:
            await api.send(session_id, "/call ask {}")
            shown = await read_until(frames, "tool.call")
            queued = await api.send(session_id, "and then?")
            await engine.kill()
        for part in brain.folder.glob("brain.db*"):
            part.unlink()
        shutil.copytree(synced, brain.folder, dirs_exist_ok=True)
    await brain.start_engine()
    await api.until_ready()
    events = await api.until_idle(session_id)
    again = await api.http.post("/sessions", json=body, headers=key)

    seen = [frame.data for frame in shown if frame.id is not None]
    assert events[: len(seen)] == seen
    assert queued["message_id"] in str(of_type(events, "turn.started")[-1])
    assert only(events, "tool.result")["code"] == "engine_died"
    assert again.content == made.content
    assert len(desk.arrived) == 1


@pytest.mark.requirement("REC-06")
async def test_each_request_is_committed_to_postgres_before_it_is_answered(
    start_brain: StartBrain, connect: Callable[..., Api], desk: Desk, own_server: PostgresServer
) -> None:
    store = own_server.url("postgres")
    brain = await start_brain(tools=[desk.binding("ask")], extra={"store": store})
    api = connect(brain)
    log = await open_postgres(store, "unix:/another.sock")
    async with engine_process(brain, api) as engine:
        client = Client(api, lambda: contents(log))
        await change_everything(client, desk)
        kept = await api.create("ask")
        await api.send(kept, "/call ask {}")
        await asyncio.to_thread(own_server.stop, crash=True)
        await engine.kill()
    await asyncio.to_thread(own_server.start)
    left = await contents(log)
    await log.close()
    assert list(left) == [kept]
    assert types(left[kept])[:3] == ["session.created", "message.user", "turn.started"]
