"""Images of up to 5 MiB get through, though base64 makes them larger than other bodies may be."""

import base64
import json
from typing import Any

import pytest

from brain_testing.api import Api, Json
from brain_testing.desk import Desk
from brain_testing.reading import only, read_until, said

pytestmark = pytest.mark.requirement("MSG-04")

MIB = 1024 * 1024
LARGEST = b"\x89PNG\r\n\x1a\n" + bytes(5 * MIB - 8)


def image(raw: bytes) -> Json:
    data = base64.b64encode(raw).decode()
    return {"type": "image", "data": data, "mime_type": "image/png"}


def text(words: str) -> Json:
    return {"type": "text", "text": words}


async def post(api: Api, session_id: str, content: Any) -> Any:
    return await api.http.post(f"/sessions/{session_id}/messages", json={"content": content})


async def test_an_image_of_exactly_5_mib_reaches_the_log_and_every_reader(api: Api) -> None:
    session_id = await api.create()
    content = [text("Look:"), image(LARGEST)]
    async with api.follow(session_id) as frames:
        assert (await post(api, session_id, content)).status_code == 202
        followed = [frame.data for frame in await read_until(frames, "turn.completed")]
    listed = await api.events(session_id)

    assert only(listed, "message.user")["content"] == content
    assert only(followed, "message.user")["content"] == content
    assert said(listed).startswith("You said: Look:")


async def test_one_byte_more_is_refused_with_a_word_about_the_image(api: Api) -> None:
    session_id = await api.create()
    answer = await post(api, session_id, [text("Look:"), image(LARGEST + b"\0")])

    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error["pointer"] == "/content/1/data"
    assert "5242880 bytes" in error["detail"]
    assert (await api.session(session_id))["last_seq"] == 1


@pytest.mark.requirement("API-02")
async def test_a_message_with_images_may_have_8_mib_and_no_more(api: Api) -> None:
    session_id = await api.create()
    blocks = [image(LARGEST), text("")]
    frame = len(json.dumps({"content": blocks}, separators=(",", ":")))
    fits = [image(LARGEST), text("x" * (8 * MIB - frame))]
    over = [image(LARGEST), text("x" * (8 * MIB - frame + 1))]

    assert (await post(api, session_id, over)).status_code == 413
    assert (await post(api, session_id, fits)).status_code == 202


async def test_large_messages_can_wait_and_be_listed_and_be_withdrawn(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    sent = [await api.send(session_id, [image(LARGEST)]) for _ in range(5)]
    answer = await api.http.get(f"/sessions/{session_id}/messages", params={"status": "queued"})
    assert answer.status_code == 200, answer.text
    listed = answer.json()["messages"]
    assert [each["message_id"] for each in listed] == [each["message_id"] for each in sent]
    for each in sent:
        gone = await api.http.delete(f"/sessions/{session_id}/messages/{each['message_id']}")
        assert gone.status_code == 204
    call.say("done")
    assert said(await api.until_idle(session_id)) == "done"
