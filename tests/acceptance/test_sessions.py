"""Sessions: made, read, listed, closed, deleted."""

from collections.abc import Callable
from typing import Any

import pytest

from brain_testing.api import Api
from brain_testing.desk import Desk, within
from brain_testing.plugin import StartBrain
from brain_testing.reading import of_type, only, read_until, types
from brain_testing.running import RunningBrain


@pytest.mark.requirement("SES-02")
async def test_a_new_session_is_idle_and_says_what_it_was_made_with(
    brain: RunningBrain, api: Api
) -> None:
    body: dict[str, Any] = {
        "harness": "pi",
        "config": {"model": "demo/script", "tools": ["ask"], "system_prompt": "Be brief."},
        "metadata": {"z": 12345678901234567890, "a": [1.0, None, "é"]},
    }
    answer = await api.http.post("/sessions", json=body)
    assert answer.status_code == 201
    session = answer.json()
    assert session["id"].startswith("ses_")
    assert session["tenant_id"] == "local"
    assert session["harness"] == "pi"
    assert session["status"] == "idle"
    assert session["last_seq"] == 1
    assert body["config"].items() <= session["config"].items()
    assert session["config"]["max_steps"] == 100
    assert session["metadata"] == body["metadata"]
    assert "usage" in session
    assert session["created_at"] == session["updated_at"]
    assert answer.headers["location"].endswith(f"/sessions/{session['id']}")
    assert await api.session(session["id"]) == session


@pytest.mark.requirement("SES-02")
async def test_the_first_event_says_what_the_session_was_made_with(api: Api) -> None:
    session_id = await api.create("ask", system_prompt="Be brief.")
    created = only(await api.events(session_id), "session.created")
    assert created["harness"] == "pi"
    assert created["config"] == (await api.session(session_id))["config"]
    assert created["metadata"] == {}


@pytest.mark.requirement("SES-02")
async def test_an_unknown_tool_and_a_foreign_one_are_refused_in_the_same_words(
    start_brain: StartBrain, connect: Callable[..., Api], desk: Desk
) -> None:
    brain = await start_brain(
        tenants=("local", "other"), tools=[desk.binding("secret", tenants=["other"])]
    )
    api = connect(brain, "local")
    told: list[str] = []
    for name in ("secret", "sesame"):
        body = {"harness": "pi", "config": {"model": "demo/script", "tools": [name]}}
        answer = await api.http.post("/sessions", json=body)
        assert answer.status_code == 422
        (error,) = answer.json()["errors"]
        assert error["pointer"] == "/config/tools/0"
        assert name in error["detail"]
        told.append(answer.text.replace(name, "NAME"))
    assert told[0] == told[1]


@pytest.mark.requirement("SES-04")
async def test_sessions_are_listed_newest_first_a_page_at_a_time(api: Api) -> None:
    made = [await api.create() for _ in range(5)]
    listed: list[str] = []
    cursor: str | None = None
    for expected in (2, 2, 1):
        params = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = (await api.http.get("/sessions", params=params)).json()
        assert len(page["sessions"]) == expected
        listed += [session["id"] for session in page["sessions"]]
        cursor = page["next_cursor"]
    assert cursor is None
    assert listed == made[::-1]


@pytest.mark.requirement("SES-04")
async def test_a_page_that_ends_with_the_last_session_has_no_cursor(api: Api) -> None:
    for _ in range(2):
        await api.create()
    page = (await api.http.get("/sessions", params={"limit": 2})).json()
    assert len(page["sessions"]) == 2
    assert page["next_cursor"] is None


@pytest.mark.requirement("SES-04")
async def test_a_session_made_while_a_client_pages_changes_no_later_page(api: Api) -> None:
    first, second = await api.create(), await api.create()
    page = (await api.http.get("/sessions", params={"limit": 1})).json()
    await api.create()
    rest = (await api.http.get("/sessions", params={"cursor": page["next_cursor"]})).json()
    assert [session["id"] for session in page["sessions"]] == [second]
    assert [session["id"] for session in rest["sessions"]] == [first]


@pytest.mark.requirement("SES-04")
async def test_sessions_can_be_listed_by_status(api: Api, desk: Desk) -> None:
    idle, running, closed = await api.create(), await api.create("ask"), await api.create()
    await api.send(running, "/call ask {}")
    await desk.next_call()
    await api.http.post(f"/sessions/{closed}/close")
    for status, expected in (("idle", idle), ("running", running), ("closed", closed)):
        page = (await api.http.get("/sessions", params={"status": status})).json()
        assert [session["id"] for session in page["sessions"]] == [expected]
        assert page["sessions"][0] == await api.session(expected)
        assert page["sessions"][0]["status"] == status


@pytest.mark.requirement("SES-04")
async def test_a_closed_session_takes_no_message_and_can_still_be_read(api: Api) -> None:
    session_id = await api.create()
    await api.turn(session_id, "hi")
    await api.http.post(f"/sessions/{session_id}/close")
    before = await api.events(session_id)
    for delivery in ("queue", "steer", "interrupt", "reject"):
        answer = await api.http.post(
            f"/sessions/{session_id}/messages", json={"content": "more", "delivery": delivery}
        )
        assert answer.status_code == 409
    assert (await api.session(session_id))["status"] == "closed"
    assert await api.events(session_id) == before
    assert types(before)[-1] == "session.closed"


@pytest.mark.requirement("SES-04")
async def test_closing_again_gives_the_same_answer(api: Api) -> None:
    session_id = await api.create()
    first = await api.http.post(f"/sessions/{session_id}/close")
    again = await api.http.post(f"/sessions/{session_id}/close")
    assert (first.status_code, first.content) == (again.status_code, again.content)
    assert first.status_code == 200
    assert len(of_type(await api.events(session_id), "session.closed")) == 1


@pytest.mark.requirement("SES-04", "OUT-06", "OUT-11", "TOOL-09")
async def test_closing_ends_the_running_turn_first(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    queued = await api.send(session_id, "never delivered")

    answer = await api.http.post(f"/sessions/{session_id}/close")

    assert answer.status_code == 200
    assert answer.json()["status"] == "closed"
    await within(call.gone.wait())
    events = await api.events(session_id)
    result = only(events, "tool.result")
    assert (result["is_error"], result["unknown_outcome"]) == (True, True)
    assert only(events, "turn.interrupted")["reason"] == "close"
    assert only(events, "message.withdrawn")["message_id"] == queued["message_id"]
    assert types(events)[-1] == "session.closed"
    assert answer.json()["last_seq"] == events[-1]["seq"]


@pytest.mark.requirement("SES-04")
async def test_a_deleted_session_is_gone_with_its_events(api: Api) -> None:
    kept, session_id = await api.create(), await api.create()
    await api.turn(session_id, "hi")
    answer = await api.http.delete(f"/sessions/{session_id}")
    assert (answer.status_code, answer.content) == (204, b"")
    for path in ("", "/events", "/messages"):
        assert (await api.http.get(f"/sessions/{session_id}{path}")).status_code == 404
    assert (await api.http.delete(f"/sessions/{session_id}")).status_code == 404
    listed = (await api.http.get("/sessions")).json()["sessions"]
    assert [session["id"] for session in listed] == [kept]


@pytest.mark.requirement("SES-04")
async def test_nothing_of_a_deleted_session_is_left_on_disk(brain: RunningBrain, api: Api) -> None:
    session_id = await api.create()
    await api.turn(session_id, "remember the word xylophone")
    await api.http.delete(f"/sessions/{session_id}")
    await brain.stop()
    files = [path for path in brain.folder.iterdir() if path.is_file()]
    left = b"".join(path.read_bytes() for path in files)
    assert session_id.encode() not in left
    assert b"xylophone" not in left


@pytest.mark.requirement("SES-04", "OUT-11")
async def test_deleting_a_running_session_ends_its_turn(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    async with api.follow(session_id) as frames:
        await read_until(frames, "tool.call")
        answer = await api.http.delete(f"/sessions/{session_id}")
        assert answer.status_code == 204
        await within(call.gone.wait())
        rest = [frame.data async for frame in frames]
    assert "turn.completed" not in types(rest)
    assert (await api.http.get(f"/sessions/{session_id}")).status_code == 404
