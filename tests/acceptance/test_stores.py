"""What Brain promises holds on every store: the same turns, and the same after a restart."""

import asyncio
from collections.abc import Callable

import pytest

from brain_testing.api import Api
from brain_testing.desk import Desk
from brain_testing.engine_process import engine_process
from brain_testing.plugin import StartBrain
from brain_testing.reading import of_type, said, types
from brain_testing.running import RunningBrain

pytestmark = [pytest.mark.requirement("REC-06"), pytest.mark.xdist_group("commands")]


@pytest.fixture(params=["sqlite", "postgres"])
async def brain(
    request: pytest.FixtureRequest, start_brain: StartBrain, desk: Desk, postgres_url: str
) -> RunningBrain:
    """A Brain with one tool, `ask`, on one of the stores."""
    store = postgres_url if request.param == "postgres" else "sqlite:///brain.db"
    return await start_brain(tools=[desk.binding("ask")], extra={"store": store})


@pytest.fixture
def api(brain: RunningBrain, connect: Callable[..., Api]) -> Api:
    """The one tenant's view of it."""
    return connect(brain)


async def test_a_text_turn_is_answered_and_kept(api: Api) -> None:
    session_id = await api.create()
    events = await api.turn(session_id, "hello")

    assert said(events) == "You said: hello"
    assert await api.events(session_id, after=1) == events
    assert [each["seq"] for each in events] == list(range(2, len(events) + 2))


async def test_a_tool_turn_calls_its_tools_and_sums_what_it_used(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, '/call ask {"n":0}\n/call ask {"n":1}')
    for call in [await desk.next_call(), await desk.next_call()]:
        call.say(f"result {call.arguments['n']}")
    events = await api.until_idle(session_id)

    assert sorted(said(events).split("\n")) == ["result 0", "result 1"]
    assert len(of_type(events, "tool.result")) == 2
    used = (await api.http.get("/usage")).json()
    assert used["usage"][0]["model"] == "demo/script"


async def test_a_session_goes_on_after_the_engine_was_stopped_in_its_turn(
    brain: RunningBrain, api: Api, desk: Desk
) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    await desk.next_call()
    queued = await api.send(session_id, "and then?")
    before = await api.events(session_id)
    await brain.stop_engine()
    await brain.start_engine()
    await api.until_ready()
    events = await api.until_idle(session_id)

    assert events[: len(before)] == before
    assert types(events).count("turn.completed") == 2
    assert said(events) == "You said: and then?"
    assert queued["message_id"] in str(events)
    (result,) = of_type(events, "tool.result")
    assert (result["unknown_outcome"], len(desk.arrived)) == (True, 1)


@pytest.mark.requirement("REC-02", "REC-05", "OUT-07")
async def test_a_session_goes_on_after_the_engine_was_killed_in_its_turn(
    brain: RunningBrain, api: Api, desk: Desk
) -> None:
    async with engine_process(brain, api) as engine:
        session_id = await api.create("ask")
        await api.send(session_id, "/call ask {}")
        await desk.next_call()
        before = await api.events(session_id)
        await engine.kill()
    await brain.start_engine()
    await api.until_ready()
    events = before
    async with asyncio.timeout(45):
        while "turn.completed" not in types(events):
            await asyncio.sleep(0.05)
            events = await api.events(session_id)

    assert events[: len(before)] == before
    assert types(events)[-1] == "turn.completed"
    (result,) = of_type(events, "tool.result")
    assert (result["code"], len(desk.arrived)) == ("engine_died", 1)


async def test_sessions_are_listed_closed_and_deleted(api: Api) -> None:
    kept, closed, deleted = [await api.create() for _ in range(3)]
    assert (await api.http.post(f"/sessions/{closed}/close")).status_code == 200
    assert (await api.http.delete(f"/sessions/{deleted}")).status_code == 204
    listed = (await api.http.get("/sessions")).json()["sessions"]

    assert [(each["id"], each["status"]) for each in listed] == [
        (closed, "closed"),
        (kept, "idle"),
    ]
    assert (await api.http.get(f"/sessions/{deleted}/events")).status_code == 404


@pytest.mark.requirement("API-03")
async def test_a_request_with_a_key_takes_effect_once_also_after_a_restart(
    brain: RunningBrain, api: Api
) -> None:
    body = {"harness": "pi", "config": {"model": "demo/script"}}
    plain = await api.create()

    async def post(path: str, body: object, key: str) -> tuple[int, bytes]:
        headers = {"Idempotency-Key": key}
        answer = await api.http.post(path, json=body, headers=headers)
        return answer.status_code, answer.content

    async def all_of_them() -> list[tuple[int, bytes]]:
        return [
            await post("/sessions", body, "make"),
            await post(f"/sessions/{plain}/messages", {"content": "hi"}, "send"),
            await post(f"/sessions/{plain}/interrupt", {}, "end"),
            await post(f"/sessions/{plain}/close", {}, "close"),
        ]

    first = await all_of_them()
    await brain.stop_engine()
    await brain.start_engine()
    await api.until_ready()
    assert await all_of_them() == first
    assert [status for status, _ in first] == [201, 202, 200, 200]
    assert len((await api.http.get("/sessions")).json()["sessions"]) == 2
    assert types(await api.events(plain)).count("message.user") == 1
    assert (await post("/sessions", body, "send"))[0] == 409
