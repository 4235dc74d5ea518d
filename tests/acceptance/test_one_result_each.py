"""Every `tool.call` has exactly one `tool.result`, whatever happens to it."""

from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from brain_testing.api import Api
from brain_testing.desk import Desk, DeskCall
from brain_testing.reading import of_type, said
from brain_testing.running import RunningBrain

pytestmark = pytest.mark.requirement("TOOL-09")

Ending = Callable[[RunningBrain, Api, str, DeskCall], Awaitable[object]]


async def succeed(brain: RunningBrain, api: Api, session_id: str, call: DeskCall) -> None:
    call.say("done")


async def fail(brain: RunningBrain, api: Api, session_id: str, call: DeskCall) -> None:
    call.say("It did not work.", is_error=True)


async def break_off(brain: RunningBrain, api: Api, session_id: str, call: DeskCall) -> None:
    call.hang_up()


async def answer_badly(brain: RunningBrain, api: Api, session_id: str, call: DeskCall) -> None:
    call.reply(b"{", status=200)


async def interrupt(brain: RunningBrain, api: Api, session_id: str, call: DeskCall) -> None:
    await api.http.post(f"/sessions/{session_id}/interrupt")


async def interrupt_with_a_message(
    brain: RunningBrain, api: Api, session_id: str, call: DeskCall
) -> None:
    await api.send(session_id, "stop that", delivery="interrupt")


async def close(brain: RunningBrain, api: Api, session_id: str, call: DeskCall) -> None:
    await api.http.post(f"/sessions/{session_id}/close")


async def restart_the_engine(
    brain: RunningBrain, api: Api, session_id: str, call: DeskCall
) -> None:
    await brain.stop_engine()
    await brain.start_engine()
    await api.until_ready()


async def answer_and_interrupt_at_once(
    brain: RunningBrain, api: Api, session_id: str, call: DeskCall
) -> None:
    call.say("done")
    await api.http.post(f"/sessions/{session_id}/interrupt")


ENDINGS: list[Ending] = [
    succeed,
    fail,
    break_off,
    answer_badly,
    interrupt,
    interrupt_with_a_message,
    close,
    restart_the_engine,
    answer_and_interrupt_at_once,
]


def name_of(ending: Ending) -> str:
    return getattr(ending, "__name__", "").replace("_", " ")


@pytest.mark.parametrize("end", ENDINGS, ids=name_of)
async def test_each_call_of_a_batch_has_one_result(
    end: Ending, brain: RunningBrain, api: Api, desk: Desk
) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, '/call ask {"n":0}\n/call ask [0]\n/call ask {"n":2}')
    first, second = await desk.next_call(), await desk.next_call()
    async with api.follow(session_id) as frames:
        first.say("the first was in time")
        async for frame in frames:
            result_of = frame.event == "tool.result" and frame.data["data"]["call_id"]
            if result_of == first.body["call_id"]:
                break
    await end(brain, api, session_id, second)

    events = await api.until_idle(session_id)

    calls = [data["call_id"] for data in of_type(events, "tool.call")]
    results = Counter(data["call_id"] for data in of_type(events, "tool.result"))
    assert len(calls) == 3
    assert results == Counter(calls)
    assert len(desk.arrived) == 2


@pytest.mark.requirement("LOOP-02")
@pytest.mark.parametrize("end", [each for each in ENDINGS if each is not close], ids=name_of)
async def test_the_session_stays_usable(
    end: Ending, brain: RunningBrain, api: Api, desk: Desk
) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    await end(brain, api, session_id, await desk.next_call())
    await api.until_idle(session_id)
    assert said(await api.turn(session_id, "still there?")) == "You said: still there?"
    await api.send(session_id, "/call ask {}")
    (await desk.next_call()).say("yes")
    assert said(await api.until_idle(session_id)) == "yes"
