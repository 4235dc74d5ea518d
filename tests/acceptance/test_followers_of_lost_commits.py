"""Followers see what was committed while their engine didn't know: they are never shown a gap.

An engine that is told that a commit failed may be told wrong: the answer was lost, or another
engine had the session for a while. It reads the session anew then, and must not go on showing
events as if nothing had come between.
"""

from collections.abc import Awaitable
from typing import Any, cast

import pytest

from brain.engine.log.protocol import Append, EventLog, LogUnavailable
from brain.wiring import Tuning
from brain_testing.api import Api
from brain_testing.desk import Desk, within
from brain_testing.plugin import StartBrain
from brain_testing.postgres import PostgresServer
from brain_testing.reading import read_until

pytestmark = [pytest.mark.requirement("EVT-02", "EVT-06"), pytest.mark.xdist_group("commands")]


class Unsure:
    """A log that can lose the answer to a commit, and forget its lease."""

    def __init__(self) -> None:
        self.loses = False
        self.lapsed = False

    def around(self, log: EventLog) -> EventLog:
        return cast("EventLog", _UnsureLog(log, self))


class _UnsureLog:
    def __init__(self, log: EventLog, unsure: Unsure) -> None:
        self._log = log
        self._unsure = unsure

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def append(self, append: Append) -> Awaitable[None]:
        return self._append(self._log.append(append))

    def lease_ends(self) -> float:
        return 0 if self._unsure.lapsed else self._log.lease_ends()

    async def _append(self, written: Awaitable[None]) -> None:
        loses, self._unsure.loses = self._unsure.loses, False
        await written
        if loses:
            raise LogUnavailable("The answer was lost.")


@pytest.fixture
def unsure() -> Unsure:
    return Unsure()


async def test_events_whose_commit_was_not_answered_are_shown_all_the_same(
    start_brain: StartBrain, unsure: Unsure
) -> None:
    brain = await start_brain(tuning=Tuning(around_log=unsure.around))
    async with Api(brain.url, brain.key) as api:
        session_id = await api.create()
        async with api.follow(session_id) as frames:
            await api.turn(session_id, "one")
            unsure.loses = True
            lost = await api.http.post(f"/sessions/{session_id}/messages", json={"content": "two"})
            assert lost.status_code == 503
            await api.turn(session_id, "three")
            seen = await within(read_until(frames, "turn.completed", 3))

        events = await api.events(session_id)
        assert [frame.data for frame in seen if frame.id is not None] == events


@pytest.mark.requirement("REC-05")
async def test_an_engine_whose_lease_is_over_tells_nothing_from_memory(
    start_brain: StartBrain,
    unsure: Unsure,
    desk: Desk,
    postgres_server: PostgresServer,
    postgres_database: str,
) -> None:
    extra = {"store": postgres_server.url(postgres_database)}
    tools = [desk.binding("ask")]
    late = await start_brain(tools=tools, extra=extra, tuning=Tuning(around_log=unsure.around))
    other = await start_brain(tools=tools, extra=extra)
    async with Api(late.url, late.key) as at_late, Api(other.url, other.key) as at_other:
        session_id = await at_late.create("ask")
        await at_late.turn(session_id, "hello")
        unsure.lapsed = True
        ended = "DELETE FROM brain.engines USING brain.sessions WHERE engines.id = owner"
        await postgres_server.execute(ended, postgres_database)
        await at_other.send(session_id, "/call ask {}")
        call = await desk.next_call()
        queued = await at_other.send(session_id, "and then?")

        path = f"/sessions/{session_id}/messages"
        waiting = (await at_late.http.get(path, params={"status": "queued"})).json()["messages"]
        assert [each["message_id"] for each in waiting] == [queued["message_id"]]
        async with at_late.follow(session_id, until="idle") as frames:
            assert (await anext(frames)).data["data"]["status"] == "running"
            call.say("done")
            seen = [frame.data async for frame in frames if frame.id is not None]
        assert seen == await at_other.events(session_id)
