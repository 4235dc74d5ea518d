"""The calls of one answer run at the same time; the model gets their results in its own order."""

import pytest

from brain_testing.api import Api
from brain_testing.desk import Desk, DeskCall
from brain_testing.reading import of_type, read_until, said, types

pytestmark = pytest.mark.requirement("TOOL-08")

THREE_CALLS = '/call ask {"n":0}\n/call ask {"n":1}\n/call ask {"n":2}'


async def three_calls(api: Api, desk: Desk) -> tuple[str, list[DeskCall]]:
    """A session whose three calls have all arrived, none of them answered: a barrier."""
    session_id = await api.create("ask")
    await api.send(session_id, THREE_CALLS)
    calls = [await desk.next_call() for _ in range(3)]
    return session_id, sorted(calls, key=lambda call: call.arguments["n"])


async def test_each_call_runs_while_the_others_wait(api: Api, desk: Desk) -> None:
    session_id, calls = await three_calls(api, desk)
    assert "tool.result" not in types(await api.events(session_id))
    for call in calls:
        call.say("done")
    events = await api.until_idle(session_id)
    assert types(events).count("tool.result") == 3


async def test_results_are_logged_as_they_come_and_given_to_the_model_in_the_order_of_its_calls(
    api: Api, desk: Desk
) -> None:
    session_id, calls = await three_calls(api, desk)
    async with api.follow(session_id) as frames:
        for call in reversed(calls):
            call.say(f"result {call.arguments['n']}")
            await read_until(frames, "tool.result")
    events = await api.until_idle(session_id)
    called = [data["call_id"] for data in of_type(events, "tool.call")]
    assert called == [call.body["call_id"] for call in calls]
    assert [data["call_id"] for data in of_type(events, "tool.result")] == called[::-1]
    assert said(events).split("\n") == ["result 0", "result 1", "result 2"]


@pytest.mark.requirement("TOOL-09", "OUT-04")
async def test_a_failed_call_loses_nothing_of_the_others(api: Api, desk: Desk) -> None:
    session_id, (first, second, third) = await three_calls(api, desk)
    second.reply(b"", status=500)
    third.say("three")
    first.say("one")
    events = await api.until_idle(session_id)
    results = {data["call_id"]: data for data in of_type(events, "tool.result")}
    assert results[second.body["call_id"]]["is_error"] is True
    for call, text in ((first, "one"), (third, "three")):
        result = results[call.body["call_id"]]
        assert result["is_error"] is False
        assert result["content"] == [{"type": "text", "text": text}]
    lines = said(events).split("\n")
    assert (lines[0], lines[-1]) == ("one", "three")


@pytest.mark.requirement("TOOL-02")
async def test_a_refused_call_does_not_hold_the_others_back(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, '/call ask [1]\n/call ask {"n":1}')
    call = await desk.next_call()
    assert call.arguments == {"n": 1}
    call.say("done")
    results = of_type(await api.until_idle(session_id), "tool.result")
    assert sorted(result["is_error"] for result in results) == [False, True]
    assert len(desk.arrived) == 1


@pytest.mark.requirement("TOOL-01")
async def test_the_calls_of_a_batch_stand_together_in_the_log(api: Api, desk: Desk) -> None:
    session_id, calls = await three_calls(api, desk)
    order = types(await api.events(session_id))
    assert order[-4:] == ["message.assistant", "tool.call", "tool.call", "tool.call"]
    for call in calls:
        call.say("done")
