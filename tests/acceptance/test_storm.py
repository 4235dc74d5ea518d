"""Many commands at once: whatever their order, the log tells one story without loose ends."""

import asyncio
import random
from collections import Counter

import pytest

from brain_testing.api import Api, Json
from brain_testing.desk import Desk, DeskCall
from brain_testing.plugin import StartBrain
from brain_testing.reading import of_type, only, said, types
from brain_testing.running import RunningBrain

ENDS = {"turn.completed", "turn.interrupted", "turn.failed"}


async def say_done(call: DeskCall) -> None:
    call.say(f"done {call.arguments}")


@pytest.fixture
async def brain(start_brain: StartBrain, desk: Desk) -> RunningBrain:
    """A Brain whose tool `ask` answers by itself."""
    return await start_brain(tools=[desk.binding("ask", say_done)])


def assert_one_story(events: list[Json]) -> None:
    """No gap, one turn at a time, one result for each call, no message lost or taken twice."""
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    turns = [kind for kind in types(events) if kind == "turn.started" or kind in ENDS]
    assert turns[::2] == ["turn.started"] * (len(turns) // 2)
    assert all(kind in ENDS for kind in turns[1::2])
    assert len(turns) % 2 == 0
    calls = Counter(data["call_id"] for data in of_type(events, "tool.call"))
    assert calls == Counter(data["call_id"] for data in of_type(events, "tool.result"))
    accepted = Counter(data["message_id"] for data in of_type(events, "message.user"))
    settled = Counter(data["message_id"] for data in of_type(events, "message.withdrawn"))
    for kind in ("turn.started", "message.delivered"):
        for data in of_type(events, kind):
            settled.update(data["message_ids"])
    assert settled == accepted


async def command(api: Api, session_id: str, kind: str) -> None:
    """One command; it may be refused for the session's state, and for nothing else."""
    path = f"/sessions/{session_id}"
    if kind == "interrupt":
        answer = await api.http.post(f"{path}/interrupt", json={})
    elif kind == "keep":
        answer = await api.http.post(f"{path}/interrupt", json={"keep_queue": True})
    elif kind == "close":
        answer = await api.http.post(f"{path}/close")
    elif kind == "withdraw":
        queue = (await api.http.get(f"{path}/messages")).json()["messages"]
        message_id = queue[-1]["message_id"] if queue else "msg_none"
        answer = await api.http.delete(f"{path}/messages/{message_id}")
    else:
        body = {"content": f"/call ask {{}}\n/call ask {{}}\n{kind}", "delivery": kind}
        answer = await api.http.post(f"{path}/messages", json=body)
    assert answer.status_code in {200, 202, 204, 404, 409}, answer.text


@pytest.mark.requirement("MSG-01", "MSG-02", "MSG-03", "EVT-01", "TOOL-09")
@pytest.mark.parametrize("closes", [False, True])
async def test_commands_in_any_order_leave_one_story(closes: bool, api: Api) -> None:
    session_id = await api.create("ask")
    kinds = ["queue", "steer", "interrupt", "reject", "queue"] * 6
    kinds += ["interrupt", "keep", "withdraw", "withdraw"] * 3
    kinds += ["close"] * 2 if closes else []
    random.shuffle(kinds)
    await asyncio.gather(*(command(api, session_id, kind) for kind in kinds))
    events = await api.until_idle(session_id)
    assert_one_story(events)
    assert ("session.closed" in types(events)) == closes
    if not closes:
        assert said(await api.turn(session_id, "and now?")) == "You said: and now?"


@pytest.mark.requirement("LOOP-01", "TOOL-04", "SES-04")
async def test_sessions_at_once_do_not_mix(api: Api, desk: Desk) -> None:
    sessions = [await api.create("ask") for _ in range(20)]
    told = await asyncio.gather(
        *(
            api.turn(session_id, f'/call ask {{"n":{number}}}')
            for number, session_id in enumerate(sessions)
        )
    )
    for number, (session_id, events) in enumerate(zip(sessions, told, strict=True)):
        assert said(events) == f"done {{'n': {number}}}"
        assert {event["session_id"] for event in events} == {session_id}
        call_id = only(events, "tool.call")["call_id"]
        (sent,) = [call for call in desk.arrived if call.body["call_id"] == call_id]
        assert sent.body["session_id"] == session_id
