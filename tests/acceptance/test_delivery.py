"""What `delivery` does with a message that arrives while a turn runs."""

import pytest

from brain_testing.api import Api
from brain_testing.desk import Desk, DeskCall, within
from brain_testing.reading import of_type, only, said, text_of, types

pytestmark = pytest.mark.requirement("MSG-02")


async def running_turn(api: Api, desk: Desk) -> tuple[str, DeskCall]:
    """A session whose turn waits for the tool `ask`."""
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    return session_id, await desk.next_call()


@pytest.mark.parametrize("delivery", ["queue", "steer", "interrupt", "reject"])
async def test_on_an_idle_session_every_delivery_starts_a_turn(delivery: str, api: Api) -> None:
    session_id = await api.create()
    sent = await api.send(session_id, "hi", delivery=delivery)
    assert sent["queued"] is False
    assert sent["turn_id"] is not None
    events = await api.until_idle(session_id)
    assert only(events, "message.user")["delivery"] == delivery
    assert only(events, "turn.started")["message_ids"] == [sent["message_id"]]
    assert said(events) == "You said: hi"


async def test_queued_messages_become_turns_one_at_a_time_in_order(api: Api, desk: Desk) -> None:
    session_id, call = await running_turn(api, desk)
    sent = [await api.send(session_id, text) for text in ("one", "two", "three")]
    assert [(each["queued"], each["turn_id"]) for each in sent] == [(True, None)] * 3
    call.say("done")
    events = await api.until_idle(session_id)
    started = [data["message_ids"] for data in of_type(events, "turn.started")]
    assert started[1:] == [[each["message_id"]] for each in sent]
    answers = [text_of(data) for data in of_type(events, "message.assistant")]
    assert answers[-3:] == ["You said: one", "You said: two", "You said: three"]
    bounds = [kind for kind in types(events) if kind in {"turn.started", "turn.completed"}]
    assert bounds == ["turn.started", "turn.completed"] * 4


async def test_a_steered_message_reaches_the_model_after_the_tool_batch(
    api: Api, desk: Desk
) -> None:
    session_id, call = await running_turn(api, desk)
    steers = [await api.send(session_id, text, delivery="steer") for text in ("left", "right")]
    assert "tool.result" not in types(await api.events(session_id))
    call.say("done")
    events = await api.until_idle(session_id)
    delivered = only(events, "message.delivered")
    assert delivered["message_ids"] == [each["message_id"] for each in steers]
    order = [kind for kind in types(events) if kind != "message.user"]
    assert order[order.index("tool.result") :] == [
        "tool.result",
        "message.delivered",
        "message.assistant",
        "turn.completed",
    ]
    assert "left" in said(events)
    assert "right" in said(events)
    assert types(events).count("turn.started") == 1


async def test_an_interrupting_message_ends_the_turn_and_starts_its_own(
    api: Api, desk: Desk
) -> None:
    session_id, call = await running_turn(api, desk)
    sent = await api.send(session_id, "stop that", delivery="interrupt")
    await within(call.gone.wait())
    events = await api.until_idle(session_id)
    assert only(events, "turn.interrupted")["reason"] == "message"
    assert of_type(events, "turn.started")[-1]["message_ids"] == [sent["message_id"]]
    assert said(events) == "You said: stop that"
    ends = [kind for kind in types(events) if kind in {"turn.interrupted", "turn.completed"}]
    assert ends == ["turn.interrupted", "turn.completed"]


@pytest.mark.requirement("API-02")
async def test_a_message_that_asks_for_reject_is_refused_and_leaves_no_trace(
    api: Api, desk: Desk
) -> None:
    session_id, call = await running_turn(api, desk)
    before = await api.events(session_id)
    answer = await api.http.post(
        f"/sessions/{session_id}/messages", json={"content": "hi", "delivery": "reject"}
    )
    assert answer.status_code == 409
    assert await api.events(session_id) == before
    call.say("done")
    assert said(await api.until_idle(session_id)) == "done"
