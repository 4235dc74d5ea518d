"""A message that was accepted is in the log, and its turn needs nobody to watch."""

import json
import socket
import struct
from typing import Any
from urllib.parse import urlsplit

import pytest

from brain_testing.api import Api, Json
from brain_testing.desk import Desk
from brain_testing.reading import only, read_until, said, types
from brain_testing.running import RunningBrain


@pytest.mark.requirement("MSG-01")
async def test_the_answer_names_the_event_that_is_in_the_log_already(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    answer = await api.http.post(
        f"/sessions/{session_id}/messages", json={"content": "/call ask {}"}
    )
    events = await api.events(session_id)
    assert answer.status_code == 202
    sent: Json = answer.json()
    assert sent.keys() == {"message_id", "seq", "turn_id", "queued"}
    message = events[int(sent["seq"]) - 1]
    assert message["type"] == "message.user"
    assert message["data"]["message_id"] == sent["message_id"]
    assert message["data"]["delivery"] == "queue"
    assert sent["queued"] is False
    assert sent["turn_id"].startswith("turn_")
    (await desk.next_call()).say("done")
    started = next(e for e in await api.until_idle(session_id) if e["type"] == "turn.started")
    assert started["turn_id"] == sent["turn_id"]
    assert started["data"]["message_ids"] == [sent["message_id"]]


@pytest.mark.requirement("MSG-01")
async def test_text_and_blocks_say_the_same(api: Api) -> None:
    session_id = await api.create()
    blocks: list[dict[str, Any]] = [{"type": "text", "text": "one"}]
    as_text = only(await api.turn(session_id, "one"), "message.user")
    as_blocks = only(await api.turn(session_id, blocks), "message.user")
    assert as_text["content"] == as_blocks["content"] == blocks


@pytest.mark.requirement("MSG-01")
async def test_a_client_that_stops_following_stops_nothing(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    async with api.follow(session_id) as frames:
        await api.send(session_id, "/call ask {}")
        call = await desk.next_call()
        await read_until(frames, "tool.call")
    call.say("still here")
    assert said(await api.until_idle(session_id)) == "still here"


@pytest.mark.requirement("MSG-01")
async def test_a_client_that_leaves_right_after_sending_stops_nothing(
    brain: RunningBrain, api: Api, desk: Desk
) -> None:
    session_id = await api.create("ask")
    async with api.follow(session_id) as frames:
        with _connected(brain) as client:
            client.sendall(_send_request(brain, session_id))
        (await desk.next_call()).say("done all the same")
        read = await read_until(frames, "turn.completed")
    assert said([frame.data for frame in read]) == "done all the same"


@pytest.mark.requirement("MSG-01")
async def test_a_client_whose_connection_breaks_during_the_turn_stops_nothing(
    brain: RunningBrain, api: Api, desk: Desk
) -> None:
    session_id = await api.create("ask")
    async with api.follow(session_id) as frames:
        with _connected(brain) as client:
            client.sendall(_send_request(brain, session_id))
            await read_until(frames, "tool.call")
            # A reset, not a polite end.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        (await desk.next_call()).say("done all the same")
        read = await read_until(frames, "turn.completed")
    assert said([frame.data for frame in read]) == "done all the same"


def _connected(brain: RunningBrain) -> socket.socket:
    address = urlsplit(brain.url)
    return socket.create_connection((address.hostname or "", address.port or 0), timeout=20)


def _send_request(brain: RunningBrain, session_id: str) -> bytes:
    raw = json.dumps({"content": "/call ask {}"}).encode()
    head = (
        f"POST /sessions/{session_id}/messages HTTP/1.1\r\nHost: brain\r\n"
        f"Authorization: Bearer {brain.key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
    )
    return head.encode() + raw


@pytest.mark.requirement("MSG-01", "EVT-01")
async def test_what_was_accepted_outlives_the_engine(brain: RunningBrain, api: Api) -> None:
    session_id = await api.create()
    await api.turn(session_id, "first")
    before = (await api.http.get(f"/sessions/{session_id}/events")).content
    session = await api.session(session_id)
    await brain.stop_engine()
    await brain.start_engine()
    await api.until_ready()
    assert (await api.http.get(f"/sessions/{session_id}/events")).content == before
    assert await api.session(session_id) == session
    assert said(await api.turn(session_id, "second")) == "You said: second"
    events = await api.events(session_id)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert types(events).count("turn.completed") == 2


PIXEL = "R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="


@pytest.mark.requirement("MSG-04")
async def test_an_image_is_taken_as_it_is(api: Api) -> None:
    blocks: list[Json] = [
        {"type": "text", "text": "Look:"},
        {"type": "image", "data": PIXEL, "mime_type": "image/gif"},
    ]
    events = await api.turn(await api.create(), blocks)
    assert only(events, "message.user")["content"] == blocks


@pytest.mark.requirement("MSG-04")
@pytest.mark.parametrize(
    ("image", "pointer"),
    [
        ({"data": "not base64!", "mime_type": "image/gif"}, "/content/1/data"),
        ({"data": f"data:image/gif;base64,{PIXEL}", "mime_type": "image/gif"}, "/content/1/data"),
        ({"data": PIXEL, "mime_type": "text/plain"}, "/content/1/mime_type"),
        ({"data": PIXEL}, "/content/1/mime_type"),
        ({"data": PIXEL, "mime_type": "image/gif", "alt": "x"}, "/content/1/alt"),
    ],
    ids=["base64", "data url", "media type", "no media type", "unknown field"],
)
async def test_what_is_no_image_is_refused(image: Json, pointer: str, api: Api) -> None:
    content = [{"type": "text", "text": "Look:"}, {"type": "image", **image}]
    session_id = await api.create()
    answer = await api.http.post(f"/sessions/{session_id}/messages", json={"content": content})
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
