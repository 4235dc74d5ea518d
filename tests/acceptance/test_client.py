"""The Python client against a running Brain."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
from aiohttp import web
from aiohttp.test_utils import BaseTestServer, TestServer

from brain_client import AsyncBrain, BrainError, BrainUnavailable
from brain_client.types import Event
from brain_testing.api import Api
from brain_testing.desk import Desk, within
from brain_testing.running import RunningBrain

DEMO = {"harness": "pi", "config": {"model": "demo/script", "tools": ["ask"]}}


def url_of(server: BaseTestServer) -> str:
    return str(server.make_url(""))


@pytest.fixture
async def client(brain: RunningBrain) -> AsyncGenerator[AsyncBrain]:
    async with AsyncBrain(brain.url, brain.key) as opened:
        yield opened


async def test_a_turn_from_its_message_until_the_session_is_idle(client: AsyncBrain) -> None:
    session = await client.create(DEMO)
    events = [event async for event in session.run("hello")]

    durable = [event["type"] for event in events if "seq" in event]
    assert durable == ["message.user", "turn.started", "message.assistant", "turn.completed"]
    assert (await client.catalog())["models"] == [{"id": "demo/script"}]
    assert [each["id"] for each in (await client.sessions())["sessions"]] == [session.id]


async def test_the_first_words_of_an_answer_are_among_its_events(client: AsyncBrain) -> None:
    session = await client.create(DEMO)
    for text in ("one two", "three"):
        events = [event async for event in session.run(text)]
        words = [e["data"]["text"] for e in events if e["type"] == "message.delta"]
        assert "".join(words) == f"You said: {text}"


async def test_what_others_do_in_the_session_is_gone_by(client: AsyncBrain) -> None:
    session = await client.create(DEMO)
    other = await client.session(session.id)
    assert [event async for event in other.run("from another")]
    events = [event async for event in session.run("mine") if "seq" in event]

    assert [event["type"] for event in events][:2] == ["message.user", "turn.started"]
    assert events[0]["data"]["content"] == [{"type": "text", "text": "mine"}]


async def test_a_message_behind_a_running_turn_is_followed_to_its_own_end(
    client: AsyncBrain, desk: Desk
) -> None:
    session = await client.create(DEMO)
    await session.send("/call ask {}")
    call = await desk.next_call()
    seen: list[str] = []

    async def follow() -> None:
        async for event in session.run("second"):
            seen.append(event["type"])
            if event["type"] == "message.user":
                call.say("done")

    await within(asyncio.create_task(follow()))
    assert seen.count("turn.completed") == 2


async def test_a_follower_outlives_the_edge_and_misses_and_repeats_nothing(
    brain: RunningBrain, api: Api, client: AsyncBrain, desk: Desk
) -> None:
    session = await client.create(DEMO)
    await session.send("/call ask {}")
    call = await desk.next_call()
    seen: list[Event] = []
    joined = asyncio.Event()

    async def follow() -> None:
        async for event in session.events(until="idle"):
            joined.set()
            if "seq" in event:
                seen.append(event)

    following = asyncio.create_task(follow())
    await within(joined.wait())
    await brain.restart_edge()
    call.say("done")
    await within(following)

    assert seen == await api.events(session.id)
    assert seen[-1]["type"] == "turn.completed"


async def test_a_follower_without_an_end_goes_on_after_the_edge_comes_back(
    brain: RunningBrain, client: AsyncBrain
) -> None:
    session = await client.create(DEMO)
    joined, done = asyncio.Event(), asyncio.Event()

    async def follow() -> None:
        async for event in session.events():
            joined.set()
            if event["type"] == "turn.completed":
                done.set()

    following = asyncio.create_task(follow())
    await within(joined.wait())
    await brain.restart_edge()
    await session.send("hello")
    await within(done.wait())
    await session.close()
    await within(following)


async def test_what_brain_refuses_is_an_error_with_its_problem(client: AsyncBrain) -> None:
    unknown = {"harness": "pi", "config": {"model": "demo/script", "tools": ["nope"]}}
    with pytest.raises(BrainError, match="nope") as refused:
        await client.create(unknown)
    assert refused.value.status == 422
    assert refused.value.problem["errors"][0]["pointer"] == "/config/tools/0"

    with pytest.raises(BrainError) as missing:
        await client.session("ses_unknown")
    assert missing.value.status == 404


async def test_a_wrong_key_is_said_without_repeating_it(brain: RunningBrain) -> None:
    async with AsyncBrain(brain.url, "a-wrong-key") as client:
        with pytest.raises(BrainError) as refused:
            await client.catalog()
    assert refused.value.status == 401
    assert "a-wrong-key" not in str(refused.value)


async def test_a_brain_that_is_not_there_is_said() -> None:
    async with AsyncBrain("http://127.0.0.1:1", "key") as client:
        with pytest.raises(BrainUnavailable, match="can't be reached"):
            await client.catalog()


async def test_a_brain_on_this_machine_is_reached_past_any_proxy(
    brain: RunningBrain, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "socks9://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "example.com")
    for host in ("127.0.0.1", "localhost"):
        async with AsyncBrain(brain.url.replace("127.0.0.1", host), brain.key) as client:
            assert (await client.catalog())["models"]


async def test_a_proxy_that_can_not_be_used_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "socks9://127.0.0.1:1")
    with pytest.raises(BrainUnavailable, match="proxy"):
        AsyncBrain("http://brain.example", "key")


async def test_a_message_whose_answer_was_lost_is_sent_again_and_taken_once(
    brain: RunningBrain, api: Api
) -> None:
    """A proxy in front of Brain passes each POST on, and loses the first answer."""
    keys: list[str] = []

    async def passes_on(request: web.Request) -> web.Response:
        body, headers = await request.read(), dict(request.headers)
        answer = await api.http.request(
            request.method, request.path_qs, content=body, headers=headers
        )
        if request.path.endswith("/messages"):
            keys.append(headers["Idempotency-Key"])
            if len(keys) == 1:
                assert request.transport is not None
                request.transport.close()
        return web.Response(status=answer.status_code, body=answer.content)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", passes_on)
    async with TestServer(app) as server, AsyncBrain(url_of(server), brain.key) as client:
        session = await client.create(DEMO)
        sent = await session.send("hello")

    assert keys[0] == keys[1]
    messages = [e for e in await api.until_idle(session.id) if e["type"] == "message.user"]
    assert [message["seq"] for message in messages] == [sent["seq"]]


@pytest.mark.parametrize(
    ("status", "body"),
    [(200, "<html>"), (200, "[]"), (302, ""), (404, '{"errors": ["x"]}'), (500, '"no"')],
)
async def test_another_server_in_brains_place_is_an_error(status: int, body: str) -> None:
    async def other(_: web.Request) -> web.Response:
        return web.Response(status=status, text=body)

    app = web.Application()
    app.router.add_get("/catalog", other)
    async with TestServer(app) as server, AsyncBrain(url_of(server), "key") as client:
        with pytest.raises(BrainError) as refused:
            await client.catalog()
    assert refused.value.status == status


async def test_a_follower_waits_for_an_engine_that_restarts(
    brain: RunningBrain, client: AsyncBrain
) -> None:
    session = await client.create(DEMO)
    joined, done = asyncio.Event(), asyncio.Event()

    async def follow() -> None:
        async for event in session.events():
            joined.set()
            if event["type"] == "turn.completed":
                done.set()

    following = asyncio.create_task(follow())
    await within(joined.wait())
    await brain.stop_engine()
    with pytest.raises(BrainError) as refused:
        await client.catalog()
    assert refused.value.status == 503
    await brain.start_engine()
    async for _ in session.events(until="idle"):
        pass
    await session.send("hello")
    await within(done.wait())
    await session.close()
    await within(following)


async def test_a_message_that_waits_is_listed_and_withdrawn(client: AsyncBrain, desk: Desk) -> None:
    session = await client.create(DEMO)
    await session.send("/call ask {}")
    call = await desk.next_call()
    waits = await session.send("later")

    assert [each["message_id"] for each in await session.queue()] == [waits["message_id"]]
    await session.withdraw(waits["message_id"])
    assert await session.queue() == []
    with pytest.raises(BrainError) as refused:
        await session.withdraw(waits["message_id"])
    assert refused.value.status == 404
    call.say("done")


async def test_what_the_tenant_has_used(client: AsyncBrain) -> None:
    session = await client.create(DEMO)
    async for _ in session.run("hello"):
        pass

    assert (await client.usage())["usage"] != []
    assert (await client.usage("2020-01-01", "2020-01-02"))["usage"] == []


async def test_a_context_that_is_short_is_not_compacted(client: AsyncBrain) -> None:
    session = await client.create(DEMO)
    with pytest.raises(BrainError) as refused:
        await session.compact()
    assert refused.value.status == 409


async def test_interrupt_close_and_delete(client: AsyncBrain, desk: Desk) -> None:
    session = await client.create(DEMO)
    await session.send("/call ask {}")
    await desk.next_call()

    assert (await session.interrupt())["interrupted"] is True
    await session.close()
    assert session.data["status"] == "closed"
    assert [event["type"] async for event in session.events()][-1] == "session.closed"
    await session.delete()
    with pytest.raises(BrainError):
        await client.session(session.id)
