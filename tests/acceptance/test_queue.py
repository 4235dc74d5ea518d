"""The queue: messages that wait can be listed, and withdrawn until they are delivered."""

from typing import Any

import pytest

from brain_testing.api import Api, Json
from brain_testing.desk import Desk
from brain_testing.reading import of_type, only, said

pytestmark = pytest.mark.requirement("MSG-03")


async def queue(api: Api, session_id: str) -> list[Json]:
    answer = await api.http.get(f"/sessions/{session_id}/messages", params={"status": "queued"})
    assert answer.status_code == 200
    return answer.json()["messages"]


async def test_waiting_messages_are_listed_in_order_until_they_are_delivered(
    api: Api, desk: Desk
) -> None:
    session_id = await api.create("ask")
    assert await queue(api, session_id) == []
    await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    blocks: list[dict[str, Any]] = [{"type": "text", "text": "two"}]
    sent = [
        await api.send(session_id, "one"),
        await api.send(session_id, blocks, delivery="steer"),
    ]

    first, second = await queue(api, session_id)

    assert [first["message_id"], second["message_id"]] == [each["message_id"] for each in sent]
    assert [first["seq"], second["seq"]] == [each["seq"] for each in sent]
    assert (first["delivery"], second["delivery"]) == ("queue", "steer")
    assert first["content"] == [{"type": "text", "text": "one"}]
    assert second["content"] == blocks
    assert first["created_at"] <= second["created_at"]
    call.say("done")
    await api.until_idle(session_id)
    assert await queue(api, session_id) == []


async def test_a_withdrawn_message_is_never_delivered(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    unwanted, wanted = await api.send(session_id, "no"), await api.send(session_id, "yes")

    answer = await api.http.delete(f"/sessions/{session_id}/messages/{unwanted['message_id']}")

    assert (answer.status_code, answer.content) == (204, b"")
    assert [each["message_id"] for each in await queue(api, session_id)] == [wanted["message_id"]]
    call.say("done")
    events = await api.until_idle(session_id)
    withdrawn = only(events, "message.withdrawn")
    assert withdrawn["message_id"] == unwanted["message_id"]
    assert withdrawn["reason"]
    assert len(of_type(events, "turn.started")) == 2
    assert said(events) == "You said: yes"


async def test_what_no_longer_waits_cannot_be_withdrawn(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    delivered = await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    withdrawn = await api.send(session_id, "no")
    await api.http.delete(f"/sessions/{session_id}/messages/{withdrawn['message_id']}")
    before = await api.events(session_id)
    for message_id in (delivered["message_id"], withdrawn["message_id"], "msg_never"):
        answer = await api.http.delete(f"/sessions/{session_id}/messages/{message_id}")
        assert answer.status_code == 404
    assert await api.events(session_id) == before
    call.say("done")
