"""The drivers' clients: what they ask for, what they are told, what their followers see.

Above: `driver`. Below: HTTP. A client that got no clear answer asks again with the same
idempotency key, as an application would, until there is one.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import httpx2
from msgspec import Struct, field

from brain_testing.api import Api
from brain_testing.chaos.plans import MODEL, plan
from brain_testing.chaos.tools import NAMES
from brain_testing.chaos.world import KEY

Json = dict[str, Any]
_LOST = (httpx2.HTTPError, httpx2.StreamError)
_PAUSE = 0.05


class Told(Struct):
    """What a client of one session was told. Messages by the name of their plan."""

    session_id: str
    accepted: dict[str, Json] = field(default_factory=dict[str, Json])
    refused: set[str] = field(default_factory=set[str])
    unclear: set[str] = field(default_factory=set[str])
    withdrawn: set[str] = field(default_factory=set[str])
    interrupted: set[str] = field(default_factory=set[str])
    closed: bool = False
    views: list[list[Json]] = field(default_factory=list[list[Json]])


class Client:
    """One application at work with one session after another."""

    def __init__(self, name: str, urls: list[str], rng: Random, over: asyncio.Event) -> None:
        self.told: list[Told] = []
        self._name = name
        self._rng = rng
        self._over = over
        self._apis = [Api(url, KEY) for url in urls]
        self._count = 0
        self._followers: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Work until it is over."""
        while not self._over.is_set():
            session_id = await self._create()
            if session_id is None:
                return
            told = Told(session_id)
            self.told.append(told)
            for _ in range(self._rng.randint(1, 2)):
                self._follow(told)
            for _ in range(self._rng.randint(3, 12)):
                if not self._over.is_set():
                    await self._act(told)
            if self._rng.random() < 0.3:
                answer = await self._ask("POST", f"/sessions/{session_id}/close")
                told.closed = answer is not None and answer.status_code == 200

    async def finish(self) -> None:
        """Let the followers come to the end of their sessions, then let go of everything."""
        for follower in self._followers:
            try:
                async with asyncio.timeout(60):
                    await follower
            except TimeoutError:
                follower.cancel()
        for api in self._apis:
            await api.http.aclose()

    async def _act(self, told: Told) -> None:
        what = self._rng.random()
        if what < 0.6:
            await self._send(told)
        elif what < 0.72:
            await self._interrupt(told)
        elif what < 0.8:
            await self._withdraw(told)
        elif what < 0.86:
            await self._ask("POST", f"/sessions/{told.session_id}/compact", once=True)
        else:
            await asyncio.sleep(self._rng.uniform(0, 0.4))

    async def _create(self) -> str | None:
        body = {"harness": "pi", "config": {"model": MODEL, "tools": list(NAMES)}}
        answer = await self._ask("POST", "/sessions", body)
        if answer is None:
            return None
        assert answer.status_code == 201, answer.text
        return answer.json()["id"]

    async def _send(self, told: Told) -> None:
        self._count += 1
        name = f"{self._name}-{self._count}"
        delivery = self._rng.choices(
            ["queue", "steer", "interrupt", "reject"], weights=[6, 2, 1, 1]
        )[0]
        body = {"content": self._plan(name), "delivery": delivery}
        answer = await self._ask("POST", f"/sessions/{told.session_id}/messages", body)
        if answer is None:
            told.unclear.add(name)
        elif answer.status_code == 202:
            told.accepted[name] = answer.json()
        else:
            assert answer.status_code == 409, answer.text
            told.refused.add(name)

    def _plan(self, name: str) -> str:
        weights = [6, 4, 4, 1, 2, 1]
        steps = [
            self._rng.choices(list[str](NAMES), weights=weights, k=self._rng.randint(1, 3))
            for _ in range(self._rng.choice([0, 1, 1, 2, 3]))
        ]
        return plan(name, steps, fail=self._rng.choice([0, 0, 0, 1, 2]))

    async def _interrupt(self, told: Told) -> None:
        body = {"keep_queue": self._rng.random() < 0.5}
        path = f"/sessions/{told.session_id}/interrupt"
        answer = await self._ask("POST", path, body, once=True)
        if answer is not None and answer.status_code == 200 and answer.json()["interrupted"]:
            told.interrupted.add(answer.json()["turn_id"])

    async def _withdraw(self, told: Told) -> None:
        path = f"/sessions/{told.session_id}/messages"
        waiting = await self._ask("GET", path, once=True)
        if waiting is None or waiting.status_code != 200 or not waiting.json()["messages"]:
            return
        message = self._rng.choice(waiting.json()["messages"])["message_id"]
        answer = await self._ask("DELETE", f"{path}/{message}", once=True)
        if answer is not None and answer.status_code == 204:
            told.withdrawn.add(message)

    async def _ask(
        self, method: str, path: str, body: Json | None = None, *, once: bool = False
    ) -> httpx2.Response | None:
        """The answer; None if there was no clear one."""
        headers = {"Idempotency-Key": secrets.token_hex(8)} if method == "POST" else {}
        while True:
            try:
                answer = await self._rng.choice(self._apis).http.request(
                    method, path, json=body, headers=headers
                )
            except _LOST:
                answer = None
            if answer is not None and answer.status_code < 500:
                return answer
            if once or self._over.is_set():
                return None
            await asyncio.sleep(_PAUSE)

    def _follow(self, told: Told) -> None:
        view: list[Json] = []
        told.views.append(view)
        task = asyncio.create_task(self._see(told.session_id, view))
        self._followers.add(task)

    async def _see(self, session_id: str, view: list[Json]) -> None:
        """Follow until the session is closed, or idle once it is over."""
        while True:
            until = {"until": "idle"} if self._over.is_set() else {}
            try:
                async for event in self._stream(session_id, view, until):
                    view.append(event)
                    if event["type"] == "session.closed":
                        return
                if until and await self._is_idle(session_id, view):
                    return
            except (*_LOST, AssertionError, TimeoutError):
                await asyncio.sleep(_PAUSE)

    async def _stream(
        self, session_id: str, view: list[Json], until: dict[str, str]
    ) -> AsyncIterator[Json]:
        api = self._rng.choice(self._apis)
        last = str(view[-1]["seq"]) if view else None
        over = asyncio.create_task(self._over.wait())
        try:
            async with api.follow(session_id, last_event_id=last, **until) as frames:
                while True:
                    step = asyncio.ensure_future(anext(frames))
                    waits = {step} if until else {step, over}
                    async with asyncio.timeout(30):
                        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                    if not step.done():
                        step.cancel()
                        await asyncio.wait({step})
                        return
                    frame = step.result()
                    if frame.id is not None:
                        yield frame.data
        except StopAsyncIteration:
            return
        finally:
            over.cancel()

    async def _is_idle(self, session_id: str, view: list[Json]) -> bool:
        session = await self._ask("GET", f"/sessions/{session_id}", once=True)
        if session is None or session.status_code != 200:
            return False
        told = session.json()
        return told["status"] != "running" and bool(view) and told["last_seq"] == view[-1]["seq"]


def plan_of(event: Json) -> str:
    """The name of the plan in a `message.user` event."""
    content = event["data"]["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    return json.loads(text)["plan"]
