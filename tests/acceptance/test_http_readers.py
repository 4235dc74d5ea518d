"""Many readers, slow readers, and readers that read nothing: none of them is at another's cost."""

import asyncio
import gc
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest

from brain.engine.session.actor import SessionActor
from brain.wiring import Tuning
from brain_testing.api import Api
from brain_testing.desk import PATIENCE_SECONDS, Desk
from brain_testing.edge_process import edge_process
from brain_testing.engine_process import engine_process
from brain_testing.plugin import StartBrain
from brain_testing.raw_follower import RawFollower
from brain_testing.reading import said, types
from brain_testing.running import RunningBrain

pytestmark = pytest.mark.xdist_group("commands")

MANY = 200
MIB = 2**20
NEVER_READ, TURNS, SIZE = 40, 40, 250_000


@pytest.mark.requirement("EVT-04", "EVT-06")
async def test_readers_that_take_nothing_slow_no_turn_and_take_no_memory(
    brain: RunningBrain, api: Api
) -> None:
    async with (
        engine_process(brain, api) as engine,
        edge_process(brain, api) as edge,
        AsyncExitStack() as stack,
    ):
        session_id = await api.create()
        await api.turn(session_id, "x" * SIZE)
        readers = [
            await stack.enter_async_context(await RawFollower.open(brain, session_id))
            for _ in range(NEVER_READ)
        ]
        before = {each: each.resident_bytes() for each in (edge, engine)}
        for _ in range(TURNS):
            await api.turn(session_id, "x" * SIZE)
        grown = {each: each.peak_bytes() - before[each] for each in (edge, engine)}
        # What was sent to each of them, all held in memory, would be some 800 MiB.
        assert grown[edge] < 150 * MIB
        assert grown[engine] < 150 * MIB

        await api.http.post(f"/sessions/{session_id}/close")
        late = await asyncio.gather(*(reader.rest() for reader in readers[:3]))
        events = await api.events(session_id)
    seqs = [event["seq"] for event in events]
    assert [[seq for seq, _ in each] for each in late] == [seqs] * 3
    assert late[0] == late[1] == late[2]


@pytest.mark.requirement("EVT-06")
async def test_hundreds_of_followers_of_one_session_see_the_same(
    brain: RunningBrain, api: Api, desk: Desk
) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    async with AsyncExitStack() as stack:
        readers = [
            await stack.enter_async_context(
                await RawFollower.open(brain, session_id, "?until=idle")
            )
            for _ in range(MANY)
        ]
        await asyncio.gather(*(reader.joined() for reader in readers))
        await call.progress({"half": True})
        await call.result("for everyone")
        seen = await asyncio.gather(*(reader.rest() for reader in readers))
    events = await api.events(session_id)
    assert [seq for seq, _ in seen[0]] == [event["seq"] for event in events]
    assert all(each == seen[0] for each in seen)


@pytest.mark.requirement("EVT-06")
async def test_hundreds_of_sessions_with_a_follower_each_are_all_told_of_their_own(
    brain: RunningBrain, api: Api
) -> None:
    sessions = [await api.create() for _ in range(MANY)]
    async with AsyncExitStack() as stack:
        readers = [
            await stack.enter_async_context(await RawFollower.open(brain, each))
            for each in sessions
        ]
        await asyncio.gather(*(reader.joined() for reader in readers))
        for number, session_id in enumerate(sessions):
            await api.send(session_id, f"message {number}")
        for session_id in sessions:
            await api.until_idle(session_id)
            await api.http.post(f"/sessions/{session_id}/close")
        seen = await asyncio.gather(*(reader.rest() for reader in readers))
    for number, (session_id, each) in enumerate(zip(sessions, seen, strict=True)):
        events = await api.events(session_id)
        assert [seq for seq, _ in each] == [event["seq"] for event in events]
        assert said(events) == f"You said: message {number}"
        assert types(events)[-1] == "session.closed"


@pytest.mark.requirement("REC-07")
async def test_nothing_of_an_idle_session_stays_in_memory(
    start_brain: StartBrain, connect: Callable[..., Api]
) -> None:
    brain = await start_brain(tuning=Tuning(rest_after_seconds=0.02))
    api = connect(brain)
    sessions = [await api.create() for _ in range(20)]
    for session_id in sessions:
        await api.turn(session_id, "hi")
    async with asyncio.timeout(PATIENCE_SECONDS):
        while _awake():
            await api.http.get("/healthz")
    for session_id in sessions:
        assert said(await api.turn(session_id, "again")) == "You said: again"


def _awake() -> int:
    gc.collect()  # actors of tests before this one
    return sum(isinstance(each, SessionActor) for each in gc.get_objects())
