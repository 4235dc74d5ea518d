"""`Idempotency-Key`: a POST that is sent again takes effect once, and gets the first answer."""

import asyncio
import contextlib
from collections.abc import Callable

import httpx2
import pytest

from brain.wiring import Tuning
from brain_testing.api import Api, Json
from brain_testing.desk import Desk, within
from brain_testing.manual_clock import ManualClock
from brain_testing.model_stage import model_stage
from brain_testing.plugin import StartBrain
from brain_testing.reading import of_type, types
from brain_testing.running import RunningBrain
from brain_testing.scripted_model import ScriptedModel, text

pytestmark = pytest.mark.requirement("API-03")

Connect = Callable[..., Api]
SESSION: Json = {"harness": "pi", "config": {"model": "demo/script"}, "metadata": {"n": 1.0}}
HI: Json = {"content": "hi"}
REUSED = "/problems/idempotency-key-reused"


async def post(
    api: Api, path: str, body: Json | None = None, key: str = "key", **headers: str
) -> httpx2.Response:
    return await api.http.post(path, json=body, headers={"Idempotency-Key": key, **headers})


def same(first: httpx2.Response, again: httpx2.Response) -> None:
    """The second answer is the first one, and says so."""
    assert first.is_success, first.text
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers.get("location") == first.headers.get("location")


async def texts(api: Api, session_id: str) -> list[str]:
    """What the user has said, by the log."""
    said = of_type(await api.events(session_id), "message.user")
    return [each["content"][0]["text"] for each in said]


async def test_a_session_is_made_once(api: Api) -> None:
    first = await post(api, "/sessions", SESSION)
    await api.turn(first.json()["id"], "hi")
    same(first, await post(api, "/sessions", SESSION))
    assert len((await api.http.get("/sessions")).json()["sessions"]) == 1


async def test_a_message_is_taken_once(api: Api) -> None:
    session_id = await api.create()
    path = f"/sessions/{session_id}/messages"
    first = await post(api, path, HI)
    await api.until_idle(session_id)
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    same(first, await post(api, path, HI, traceparent=trace))
    await api.http.post(f"/sessions/{session_id}/close")
    same(first, await post(api, path, HI))
    assert await texts(api, session_id) == ["hi"]


async def test_a_queued_message_is_taken_once(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    for delivery in ("queue", "steer"):
        body = {"content": delivery, "delivery": delivery}
        first = await post(api, f"/sessions/{session_id}/messages", body, key=delivery)
        assert first.json()["queued"]
        same(first, await post(api, f"/sessions/{session_id}/messages", body, key=delivery))
    call.say("done")
    await api.until_idle(session_id)
    assert await texts(api, session_id) == ["/call ask {}", "queue", "steer"]


async def test_an_interrupt_that_is_sent_again_ends_no_other_turn(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    path = f"/sessions/{session_id}/interrupt"
    await api.send(session_id, "/call ask {}")
    await desk.next_call()
    first = await post(api, path)
    assert first.json()["interrupted"] is True
    await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    same(first, await post(api, path))
    call.say("done")
    events = await api.until_idle(session_id)
    assert types(events).count("turn.interrupted") == 1
    assert types(events)[-1] == "turn.completed"


async def test_an_interrupt_of_nothing_ends_nothing_later_either(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    path = f"/sessions/{session_id}/interrupt"
    first = await post(api, path, {"keep_queue": True})
    assert first.json()["interrupted"] is False
    await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    same(first, await post(api, path, {"keep_queue": True}))
    call.say("done")
    assert types(await api.until_idle(session_id))[-1] == "turn.completed"


async def test_two_that_interrupt_the_same_turn_have_an_answer_each(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    path = f"/sessions/{session_id}/interrupt"
    sent = await api.send(session_id, "/call ask {}")
    await desk.next_call()
    firsts = await asyncio.gather(*(post(api, path, key=key) for key in "ab"))
    assert sent["turn_id"] in {each.json()["turn_id"] for each in firsts}
    for key, first in zip("ab", firsts, strict=True):
        same(first, await post(api, path, key=key))


async def test_a_close_that_is_sent_again_has_the_same_answer(api: Api) -> None:
    session_id = await api.create()
    path = f"/sessions/{session_id}/close"
    first = await post(api, path)
    same(first, await post(api, path))
    other = await post(api, f"/sessions/{session_id}/interrupt")
    assert (other.status_code, other.json()["type"]) == (409, REUSED)


async def test_a_context_is_compacted_once() -> None:
    async with model_stage(ScriptedModel(otherwise=text("NOTES"))) as (stage, _):
        session_id = await stage.create()
        path = f"/sessions/{session_id}/compact"
        early = await post(stage.api, path)
        for letter in "abc":
            await stage.api.turn(session_id, letter * 4 * 9_000)
        first = await post(stage.api, path)
        same(first, await post(stage.api, path))
        events = await stage.api.events(session_id)
    assert (early.status_code, early.json()["type"]) == (409, "/problems/nothing-to-compact")
    assert types(events).count("context.compacted") == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/sessions", SESSION),
        ("/sessions/{id}/messages", {"content": "hello"}),
        ("/sessions/{id}/messages", {"content": "hi", "delivery": "reject"}),
        ("/sessions/{other}/messages", HI),
        ("/sessions/{id}/interrupt", None),
        ("/sessions/{id}/close", None),
        ("/sessions/{id}/compact", None),
    ],
)
async def test_a_key_stands_for_one_request(path: str, body: Json | None, api: Api) -> None:
    session_id, other = await api.create(), await api.create()
    first = await post(api, f"/sessions/{session_id}/messages", HI)
    await api.until_idle(session_id)
    before = await api.events(session_id)
    answer = await post(api, path.format(id=session_id, other=other), body)

    assert (answer.status_code, answer.json()["type"]) == (409, REUSED)
    assert await api.events(session_id) == before
    assert len(await api.events(other)) == 1
    same(first, await post(api, f"/sessions/{session_id}/messages", HI))


async def test_what_says_the_same_in_other_words_is_the_same_request(api: Api) -> None:
    session_id = await api.create()
    path = f"/sessions/{session_id}/messages"
    first = await post(api, path, HI)
    block = {"type": "text", "text": "hi"}
    same(first, await post(api, path, {"delivery": "queue", "content": [block]}))


async def test_a_key_is_its_tenants(start_brain: StartBrain, connect: Connect) -> None:
    brain = await start_brain(tenants=("one", "two"))
    made = [await post(connect(brain, each), "/sessions", SESSION) for each in ("one", "two")]
    assert [each.json()["tenant_id"] for each in made] == ["one", "two"]


async def test_of_many_at_once_one_takes_effect(api: Api) -> None:
    made = await asyncio.gather(*(post(api, "/sessions", SESSION) for _ in range(20)))
    assert len({each.content for each in made}) == 1
    assert sum("idempotency-replayed" in each.headers for each in made) == 19
    session_id = made[0].json()["id"]
    path = f"/sessions/{session_id}/messages"
    sent = await asyncio.gather(*(post(api, path, HI, key="other") for _ in range(20)))
    assert len({each.content for each in sent}) == 1
    await api.until_idle(session_id)
    assert await texts(api, session_id) == ["hi"]


async def test_one_that_comes_while_the_first_is_under_way_waits_for_its_answer(
    api: Api, desk: Desk
) -> None:
    session_id = await api.create("ask")
    sent = await api.send(session_id, "/call ask {}")
    await desk.next_call()
    answers = await asyncio.gather(*(post(api, f"/sessions/{session_id}/interrupt") for _ in "ab"))
    assert [each.json()["turn_id"] for each in answers] == [sent["turn_id"]] * 2
    assert sum("idempotency-replayed" in each.headers for each in answers) == 1


async def test_an_answer_outlives_the_engine(brain: RunningBrain, api: Api) -> None:
    made = await post(api, "/sessions", SESSION)
    path = f"/sessions/{made.json()['id']}/messages"
    sent = await post(api, path, HI, key="other")
    await api.until_idle(made.json()["id"])
    await brain.stop_engine()
    await brain.start_engine()
    await api.until_ready()
    same(made, await post(api, "/sessions", SESSION))
    same(sent, await post(api, path, HI, key="other"))


async def test_after_a_day_a_key_is_free(start_brain: StartBrain, connect: Connect) -> None:
    clock = ManualClock()
    api = connect(await start_brain(tuning=Tuning(clock=clock)))
    first = await post(api, "/sessions", SESSION)
    await clock.advance(24 * 3600 - 1)
    same(first, await post(api, "/sessions", SESSION))
    await clock.advance(1)
    second = await post(api, "/sessions", SESSION)
    assert second.json()["id"] != first.json()["id"]
    same(second, await post(api, "/sessions", SESSION))


async def test_what_was_refused_may_be_tried_again(api: Api, desk: Desk) -> None:
    wrong = {"harness": "pi", "config": {"model": "no/such"}}
    assert (await post(api, "/sessions", wrong)).status_code == 422
    made = await post(
        api, "/sessions", {"harness": "pi", "config": {"model": "demo/script", "tools": ["ask"]}}
    )
    path = f"/sessions/{made.json()['id']}/messages"
    await api.send(made.json()["id"], "/call ask {}")
    call = await desk.next_call()
    body = {"content": "hi", "delivery": "reject"}
    assert (await post(api, path, body, key="other")).status_code == 409
    call.say("done")
    await api.until_idle(made.json()["id"])
    same(await post(api, path, body, key="other"), await post(api, path, body, key="other"))


async def test_a_session_that_was_deleted_is_not_made_again(api: Api) -> None:
    made = await post(api, "/sessions", SESSION)
    session_id = made.json()["id"]
    await post(api, f"/sessions/{session_id}/messages", HI, key="other")
    await api.http.delete(f"/sessions/{session_id}")
    again = await post(api, "/sessions", SESSION)
    assert (again.status_code, again.json()["type"]) == (409, "/problems/session-deleted")
    gone = await post(api, f"/sessions/{session_id}/messages", HI, key="other")
    assert gone.status_code == 404


@pytest.mark.parametrize("path", ["/sessions", "/sessions/{id}/messages", "/sessions/{id}/close"])
@pytest.mark.parametrize("key", ["", "k" * 256, "a b", "\u00e9", "a\tb"])
async def test_a_key_that_is_none_is_refused(path: str, key: str, api: Api) -> None:
    session_id = await api.create()
    raw = [(b"Idempotency-Key", key.encode("latin-1"))]
    answer = await api.http.post(path.format(id=session_id), json=HI, headers=raw)
    assert answer.status_code == 422
    (wrong,) = answer.json()["errors"]
    assert wrong["pointer"] == "/header/idempotency-key"
    assert "1 to 255 visible" in wrong["detail"]


async def test_two_keys_for_one_request_are_refused(api: Api) -> None:
    twice = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    answer = await api.http.post("/sessions", json=SESSION, headers=twice)
    assert answer.status_code == 422


@pytest.mark.parametrize("key", ["k" * 255, "!", "~", '"quoted,key"'])
async def test_a_key_may_have_all_visible_characters(key: str, api: Api) -> None:
    same(await post(api, "/sessions", SESSION, key), await post(api, "/sessions", SESSION, key))


async def test_an_answer_that_nobody_waited_for_is_there_for_the_next(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    path = f"/sessions/{session_id}/interrupt"
    sent = await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    gone = asyncio.create_task(post(api, path))
    await within(call.gone.wait())
    gone.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await gone
    answer = await post(api, path)
    assert answer.json() == {"interrupted": True, "turn_id": sent["turn_id"]}
