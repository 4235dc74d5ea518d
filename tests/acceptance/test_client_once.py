"""The Python client sends again what has lost its answer, and it takes effect once."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from brain_client import AsyncBrain, BrainError, BrainUnavailable
from brain_testing.api import Api
from brain_testing.reading import types
from brain_testing.running import RunningBrain

DEMO = {"harness": "pi", "config": {"model": "demo/script"}}


class Lossy:
    """Stands before a Brain, and loses so many of its answers to POSTs."""

    def __init__(self, url: str, lost: int) -> None:
        self.sent: list[str | None] = []
        self._url = url
        self._lost = lost

    async def handle(self, request: web.Request) -> web.Response:
        self.sent.append(request.headers.get("Idempotency-Key"))
        headers = {k: v for k, v in request.headers.items() if k.lower() != "host"}
        async with (
            aiohttp.ClientSession() as http,
            http.request(
                request.method, self._url + request.path, data=await request.read(), headers=headers
            ) as answer,
        ):
            body = await answer.read()
        if self._lost and request.method == "POST":
            self._lost -= 1
            assert request.transport is not None
            request.transport.abort()
        return web.Response(body=body, status=answer.status, content_type="application/json")


@asynccontextmanager
async def lossy(brain: RunningBrain, lost: int) -> AsyncGenerator[tuple[Lossy, AsyncBrain]]:
    between = Lossy(brain.url, lost)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", between.handle)
    async with (
        TestServer(app, access_log=None) as server,
        AsyncBrain(str(server.make_url("")), brain.key) as client,
    ):
        yield between, client


@pytest.mark.requirement("API-03")
async def test_what_has_lost_its_answer_is_sent_again_and_takes_effect_once(
    brain: RunningBrain, api: Api
) -> None:
    async with lossy(brain, lost=1) as (making, client):
        session = await client.create(DEMO)
    async with lossy(brain, lost=2) as (sending, client):
        sent = await (await client.session(session.id)).send("hi")
    events = await api.until_idle(session.id)

    assert [each["id"] for each in (await api.http.get("/sessions")).json()["sessions"]] == [
        session.id
    ]
    assert types(events).count("message.user") == 1
    assert sent["seq"] == 2
    assert len(making.sent) == 2
    assert len(set(making.sent)) == 1
    assert len(sending.sent) == 1 + 3
    assert None not in making.sent + sending.sent[1:]


async def test_each_request_has_a_key_of_its_own(brain: RunningBrain, api: Api) -> None:
    async with lossy(brain, lost=0) as (between, client):
        session = await client.create(DEMO)
        for _ in range(2):
            await session.send("hi")
    events = await api.until_idle(session.id)
    assert types(events).count("message.user") == 2
    assert len(set(between.sent)) == 3


async def test_a_refusal_is_not_asked_for_again(brain: RunningBrain) -> None:
    async with lossy(brain, lost=0) as (between, client):
        with pytest.raises(BrainError, match="no/such"):
            await client.create({"harness": "pi", "config": {"model": "no/such"}})
    assert len(between.sent) == 1


async def test_a_brain_that_stays_away_is_said_in_the_end(brain: RunningBrain) -> None:
    async with lossy(brain, lost=100) as (between, client):
        with pytest.raises(BrainUnavailable):
            await client.create(DEMO)
    assert 1 < len(between.sent) < 10
    assert len(set(between.sent)) == 1
