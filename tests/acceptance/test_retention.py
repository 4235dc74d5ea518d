"""`retention_days`: closed sessions are erased some time after their last event."""

from collections.abc import Callable

import pytest

from brain.wiring import Tuning
from brain_testing.api import Api
from brain_testing.manual_clock import ManualClock
from brain_testing.plugin import StartBrain

pytestmark = pytest.mark.requirement("SES-04")

DAY = 24 * 3600.0
Connect = Callable[..., Api]


async def until_gone(api: Api, session_id: str) -> None:
    while (await api.http.get(f"/sessions/{session_id}")).status_code == 200:
        pass


async def test_only_what_was_closed_so_long_ago_is_erased_and_its_usage_stays(
    start_brain: StartBrain, connect: Connect
) -> None:
    clock = ManualClock()
    tuning = Tuning(clock=clock, rest_after_seconds=0.05)
    brain = await start_brain(tuning=tuning, extra={"retention_days": 30})
    api = connect(brain)
    old, idle, recent = [await api.create() for _ in range(3)]
    await api.turn(old, "hi")
    await api.http.post(f"/sessions/{old}/close")
    await clock.advance(29 * DAY)
    await api.http.post(f"/sessions/{recent}/close")
    used = (await api.http.get("/usage")).json()
    await clock.advance(1.1 * DAY)
    await until_gone(api, old)

    assert (await api.http.get(f"/sessions/{old}/events")).status_code == 404
    assert (await api.session(recent))["status"] == "closed"
    assert (await api.session(idle))["status"] == "idle"
    assert (await api.http.get("/usage")).json() == used


async def test_what_became_old_while_brain_did_not_run_is_erased_at_its_start(
    start_brain: StartBrain, connect: Connect
) -> None:
    clock = ManualClock()
    brain = await start_brain(tuning=Tuning(clock=clock), extra={"retention_days": 1})
    api = connect(brain)
    session_id = await api.create()
    await api.http.post(f"/sessions/{session_id}/close")
    await brain.stop_engine()
    await clock.advance(2 * DAY)
    await brain.start_engine()
    await api.until_ready()
    await until_gone(api, session_id)


async def test_without_it_nothing_is_erased(start_brain: StartBrain, connect: Connect) -> None:
    clock = ManualClock()
    brain = await start_brain(tuning=Tuning(clock=clock, rest_after_seconds=0.05))
    api = connect(brain)
    session_id = await api.create()
    await api.http.post(f"/sessions/{session_id}/close")
    await clock.advance(30_000 * DAY)
    await brain.stop_engine()
    await brain.start_engine()
    await api.until_ready()
    assert (await api.session(session_id))["status"] == "closed"
