"""The disk is full for a while: nothing is lost, and everything goes on by itself."""

import asyncio

import pytest

from brain_testing.api import Api
from brain_testing.desk import Desk
from brain_testing.engine_process import engine_process
from brain_testing.reading import of_type, only, said, types
from brain_testing.running import RunningBrain


@pytest.mark.requirement("REC-03")
async def test_on_a_full_disk_writes_are_refused_and_reads_go_on(
    brain: RunningBrain, api: Api
) -> None:
    async with engine_process(brain, api) as engine:
        session_id = await api.create()
        await api.turn(session_id, "before")
        before = await api.events(session_id)
        with engine.disk_full():
            message = {"content": "refused"}
            refused = await api.http.post(f"/sessions/{session_id}/messages", json=message)
            created = await api.http.post("/sessions", json=_session())
            assert (refused.status_code, created.status_code) == (503, 503)
            assert await api.events(session_id) == before
        assert said(await api.turn(session_id, "after")) == "You said: after"

        events = await api.events(session_id)
        assert events[: len(before)] == before
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert "refused" not in str(events)


async def test_readiness_tells_of_a_full_disk_and_of_its_end(brain: RunningBrain, api: Api) -> None:
    async with engine_process(brain, api) as engine:
        with engine.disk_full():
            await _readiness(api, 503)
        await _readiness(api, 200)
        assert (await api.http.get("/healthz")).status_code == 200


@pytest.mark.requirement("TOOL-09", "REC-02")
async def test_a_turn_whose_result_found_no_room_goes_on_once_there_is_some(
    brain: RunningBrain, api: Api, desk: Desk
) -> None:
    async with engine_process(brain, api) as engine:
        session_id = await api.create("ask")
        await api.send(session_id, "/call ask {}")
        call = await desk.next_call()
        async with api.follow(session_id, until="idle") as frames:
            with engine.disk_full():
                call.say("done")
                for _ in range(5):  # by the last of them the engine has long had the reply
                    refused = await api.http.post("/sessions", json=_session())
                    assert refused.status_code == 503
            followed = [frame.data async for frame in frames if frame.id is not None]

        assert followed == await api.events(session_id)
        assert types(followed)[-1] == "turn.completed"
        lost = only(followed, "tool.result")
        assert (lost["is_error"], lost["unknown_outcome"]) == (True, True)
        assert len(of_type(followed, "turn.recovered")) == 1
        assert len(desk.arrived) == 1, "the call is never sent again"


async def _readiness(api: Api, status: int) -> None:
    async with asyncio.timeout(20):
        while (await api.http.get("/readyz")).status_code != status:
            await asyncio.sleep(0.05)  # the engine looks at its log every few seconds


def _session() -> dict[str, object]:
    return {"harness": "pi", "config": {"model": "demo/script"}}
