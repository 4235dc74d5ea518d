"""`Idempotency-Key` where things fail: whatever dies, each key takes effect exactly once."""

import asyncio
import random

import httpx2
import pytest

from brain_testing.api import Api, Json
from brain_testing.desk import PATIENCE_SECONDS, Desk
from brain_testing.engine_process import engine_process
from brain_testing.reading import of_type, types
from brain_testing.running import RunningBrain

pytestmark = [pytest.mark.requirement("API-03"), pytest.mark.xdist_group("commands")]

SESSION: Json = {"harness": "pi", "config": {"model": "demo/script"}}
CLIENTS, MESSAGES, KILLS = 8, 12, 4


async def insist(api: Api, path: str, body: Json | None, key: str) -> httpx2.Response:
    """Send a request until it has an answer that isn't 503, as a client does that lost one."""
    async with asyncio.timeout(3 * PATIENCE_SECONDS):
        while True:
            try:
                answer = await api.http.post(path, json=body, headers={"Idempotency-Key": key})
            except httpx2.TransportError:
                continue
            if answer.status_code != 503:
                return answer


async def lose(api: Api, path: str, body: Json | None, key: str) -> None:
    """Send a request and go away, at whatever point it has come to."""
    headers = {"Idempotency-Key": key}
    lost = asyncio.create_task(api.http.post(path, json=body, headers=headers))
    await api.http.get("/healthz")
    lost.cancel()
    await asyncio.wait([lost])


class Count:
    """Counts answers, so that a kill comes at a moment that the seed has chosen."""

    def __init__(self) -> None:
        self.reached = 0
        self._changed = asyncio.Condition()

    async def add(self) -> None:
        async with self._changed:
            self.reached += 1
            self._changed.notify_all()

    async def until(self, wanted: int) -> None:
        async with asyncio.timeout(3 * PATIENCE_SECONDS), self._changed:
            await self._changed.wait_for(lambda: self.reached >= wanted)


async def client(api: Api, name: int, count: Count) -> tuple[str, dict[str, Json]]:
    """Make a session and send it messages; gives what was answered to each text."""
    body: Json = {"harness": "pi", "config": {"model": "demo/script"}, "metadata": {"client": name}}
    session_id = (await insist(api, "/sessions", body, f"make {name}".replace(" ", "-"))).json()[
        "id"
    ]
    answers: dict[str, Json] = {}
    for number in range(MESSAGES):
        text = f"message-{name}-{number}"
        request = (api, f"/sessions/{session_id}/messages", {"content": text}, text)
        await lose(*request)
        sent = await insist(*request)
        assert sent.status_code == 202, sent.text
        answers[text] = sent.json()
        await count.add()
    return session_id, answers


@pytest.mark.requirement("REC-02")
@pytest.mark.parametrize("seed", [1])
async def test_each_key_takes_effect_once_while_the_engine_is_killed_again_and_again(
    seed: int, brain: RunningBrain, api: Api
) -> None:
    count, choice = Count(), random.Random(seed)
    total = CLIENTS * MESSAGES
    moments = sorted(choice.sample(range(1, total), KILLS))
    work: list[asyncio.Task[tuple[str, dict[str, Json]]]] = []
    for moment in moments:
        async with engine_process(brain, api) as engine:
            work = work or [asyncio.create_task(client(api, n, count)) for n in range(CLIENTS)]
            await count.until(moment)
            await engine.kill()
    await brain.start_engine()
    await api.until_ready()
    done = await asyncio.gather(*work)

    made = (await api.http.get("/sessions", params={"limit": 200})).json()["sessions"]
    assert sorted(each["metadata"]["client"] for each in made) == list(range(CLIENTS))
    for session_id, answers in done:
        events = await api.until_idle(session_id)
        taken = of_type(events, "message.user")
        assert [each["content"][0]["text"] for each in taken] == list(answers)
        assert [each["message_id"] for each in taken] == [
            each["message_id"] for each in answers.values()
        ]
        assert [e["seq"] for e in events if e["type"] == "message.user"] == [
            each["seq"] for each in answers.values()
        ]


async def test_a_message_whose_answer_died_with_the_engine_gets_it_afterwards(
    brain: RunningBrain, api: Api, desk: Desk
) -> None:
    async with engine_process(brain, api) as engine:
        session_id = await api.create("ask")
        path = f"/sessions/{session_id}/messages"
        async with api.follow(session_id) as frames:
            unheard = asyncio.create_task(insist(api, path, {"content": "/call ask {}"}, "k"))
            async for frame in frames:  # it is shown once it is durable
                if frame.event == "message.user":
                    break
            await engine.kill()
    await brain.start_engine()
    await api.until_ready()
    answer = await unheard
    events = await api.events(session_id)
    (message,) = of_type(events, "message.user")
    assert answer.json()["message_id"] == message["message_id"]


async def test_an_interrupt_that_died_before_its_turn_ended_is_carried_out_afterwards(
    brain: RunningBrain, api: Api, desk: Desk
) -> None:
    async with engine_process(brain, api) as engine:
        session_id = await api.create("ask")
        sent = await api.send(session_id, "/call ask {}")
        await desk.next_call()
        await engine.kill()
        path = f"/sessions/{session_id}/interrupt"
        insisting = asyncio.create_task(insist(api, path, None, "k"))
    await brain.start_engine()
    answer = await insisting
    again = await insist(api, path, None, "k")
    events = await api.events(session_id)
    assert again.content == answer.content
    ended = [each for each in types(events) if each.startswith("turn.")][-1]
    assert answer.json()["interrupted"] == (ended == "turn.interrupted")
    assert answer.json()["turn_id"] in (sent["turn_id"], None)


@pytest.mark.requirement("REC-03")
async def test_what_a_full_disk_refused_is_done_once_there_is_room(
    brain: RunningBrain, api: Api
) -> None:
    async with engine_process(brain, api) as engine:
        session_id = await api.create()
        path = f"/sessions/{session_id}/messages"
        with engine.disk_full():
            for where, what in (("/sessions", SESSION), (path, {"content": "hi"})):
                headers = {"Idempotency-Key": where}
                refused = await api.http.post(where, json=what, headers=headers)
                assert refused.status_code == 503
        made = await insist(api, "/sessions", SESSION, "/sessions")
        sent = await insist(api, path, {"content": "hi"}, path)
        await api.until_idle(session_id)
        assert (made.status_code, sent.status_code) == (201, 202)
        assert len((await api.http.get("/sessions")).json()["sessions"]) == 2
        assert types(await api.events(session_id)).count("message.user") == 1
