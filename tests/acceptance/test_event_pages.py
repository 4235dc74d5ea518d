"""Events a page at a time."""

import pytest

from brain_testing.api import Api
from brain_testing.desk import Desk
from brain_testing.reading import types


@pytest.mark.requirement("EVT-01")
async def test_sequence_numbers_begin_at_1_and_have_no_gaps(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    for text in ("one", "/call ask {}", "two"):
        await api.send(session_id, text)
    (await desk.next_call()).say("done")
    events = await api.until_idle(session_id)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert (await api.session(session_id))["last_seq"] == len(events)


@pytest.mark.requirement("EVT-01")
async def test_every_event_has_the_envelope(api: Api) -> None:
    session_id = await api.create()
    events = await api.turn(session_id, "hi")
    for event in events:
        assert event.keys() == {"seq", "type", "session_id", "turn_id", "created_at", "data"}
        assert event["session_id"] == session_id
        assert event["created_at"].endswith("Z")
        assert len(event["created_at"]) == len("2025-01-01T00:00:00.000Z")
    assert len({event["turn_id"] for event in events if event["type"] != "message.user"}) == 1
    assert [event["created_at"] for event in events] == sorted(e["created_at"] for e in events)


@pytest.mark.requirement("EVT-02")
@pytest.mark.parametrize("limit", [1, 2, 3, 1000])
async def test_pages_joined_are_the_whole_log(limit: int, api: Api) -> None:
    session_id = await api.create()
    await api.turn(session_id, "hi")
    whole = await api.events(session_id)
    joined: list[object] = []
    after, more = 0, True
    while more:
        answer = await api.http.get(
            f"/sessions/{session_id}/events", params={"after": after, "limit": limit}
        )
        page = answer.json()
        assert page.keys() == {"events", "next_after", "has_more"}
        assert 1 <= len(page["events"]) <= limit
        assert page["next_after"] == page["events"][-1]["seq"]
        joined += page["events"]
        after, more = page["next_after"], page["has_more"]
    assert joined == whole


@pytest.mark.requirement("EVT-02")
async def test_a_page_holds_200_events_unless_told_otherwise(api: Api) -> None:
    session_id = await api.create()
    while (await api.session(session_id))["last_seq"] < 205:
        await api.turn(session_id, "hi")
    page = (await api.http.get(f"/sessions/{session_id}/events")).json()
    assert [event["seq"] for event in page["events"]] == list(range(1, 201))
    assert (page["next_after"], page["has_more"]) == (200, True)


@pytest.mark.requirement("EVT-02")
@pytest.mark.parametrize("beyond", [0, 1, 1000])
async def test_after_the_end_there_is_an_empty_page_that_asks_for_the_same_again(
    beyond: int, api: Api
) -> None:
    session_id = await api.create()
    await api.turn(session_id, "hi")
    last = (await api.session(session_id))["last_seq"] + beyond
    page = (await api.http.get(f"/sessions/{session_id}/events", params={"after": last})).json()
    assert page == {"events": [], "next_after": last, "has_more": False}


@pytest.mark.requirement("EVT-02")
async def test_a_page_ends_at_about_8_mib(api: Api) -> None:
    session_id = await api.create()
    for _ in range(4):
        await api.turn(session_id, "x" * 2_000_000)
    answer = await api.http.get(f"/sessions/{session_id}/events", params={"limit": 1000})
    page = answer.json()
    assert page["has_more"] is True
    assert len(answer.content) < 12 * 1024 * 1024
    whole = await api.events(session_id)
    assert types(whole).count("turn.completed") == 4
    assert [event["seq"] for event in whole] == list(range(1, len(whole) + 1))


@pytest.mark.requirement("EVT-02")
async def test_last_event_id_wins_over_after_in_a_page_too(api: Api) -> None:
    session_id = await api.create()
    whole = await api.turn(session_id, "hi")
    answer = await api.http.get(
        f"/sessions/{session_id}/events", params={"after": 1}, headers={"Last-Event-ID": "3"}
    )
    assert answer.json()["events"] == [event for event in whole if event["seq"] > 3]
