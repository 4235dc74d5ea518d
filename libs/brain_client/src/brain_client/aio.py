"""The asynchronous client. Above: applications, `brain chat`. Below: httpx2."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from types import TracebackType
from typing import Any, Literal, Self

import httpx2

from brain_client.errors import BrainError, BrainUnavailable
from brain_client.sse import SseDecoder

Json = dict[str, Any]
Content = str | list[Json]
Delivery = Literal["queue", "steer", "interrupt", "reject"]

DEFAULT_URL = "http://127.0.0.1:8080"
_GONE = 404
_SILENCE_SECONDS = 30.0
"""Brain sends a comment at least every 15 s: a stream that is silent for longer is dead."""
_FIRST_DELAY, _LONGEST_DELAY, _ATTEMPTS = 0.1, 5.0, 8


class AsyncBrain:
    """Brain, as one tenant sees it.

    `url` and `key` default to the variables BRAIN_URL and BRAIN_API_KEY. Raises `BrainError` for
    what Brain refuses and `BrainUnavailable` when it can't be reached.
    """

    def __init__(self, url: str | None = None, key: str | None = None) -> None:
        self.url = (url or os.environ.get("BRAIN_URL") or DEFAULT_URL).rstrip("/")
        key = key or os.environ.get("BRAIN_API_KEY") or ""
        self._http = httpx2.AsyncClient(
            base_url=self.url,
            headers={"Authorization": f"Bearer {key}"},
            timeout=httpx2.Timeout(60, connect=5, read=_SILENCE_SECONDS + 30),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def catalog(self) -> Json:
        """The harnesses, models and tools that this tenant may use."""
        return await self.call("GET", "/catalog")

    async def create(self, session: Mapping[str, Any]) -> "AsyncSession":
        """A new session, from the body of `POST /sessions`."""
        return AsyncSession(self, await self.call("POST", "/sessions", dict(session)))

    async def session(self, session_id: str) -> "AsyncSession":
        """A session that is there already."""
        return AsyncSession(self, await self.call("GET", f"/sessions/{session_id}"))

    async def sessions(self, **query: Any) -> Json:
        """A page of sessions, newest first: `limit`, `cursor`, `status`."""
        return await self.call("GET", "/sessions", query=query)

    async def call(
        self, method: str, path: str, body: object = None, query: Mapping[str, Any] | None = None
    ) -> Json:
        """Any request of the HTTP API: its answer's JSON."""
        try:
            answer = await self._http.request(method, path, json=body, params=query)
        except httpx2.TransportError as error:
            raise BrainUnavailable(f"Brain can't be reached at {self.url}.") from error
        _raise_for(answer.status_code, answer.content)
        return answer.json() if answer.content else {}

    async def stream(self, path: str, query: Json, after: int) -> AsyncGenerator[Json, None]:
        """One connection's events, until it ends. Raises: BrainUnavailable, BrainError."""
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
        timeout = httpx2.Timeout(60, connect=5, read=_SILENCE_SECONDS)
        request = self._http.stream("GET", path, params=query, headers=headers, timeout=timeout)
        try:
            async with request as answer:
                if answer.status_code != 200:
                    _raise_for(answer.status_code, await answer.aread())
                decoder = SseDecoder()
                async for piece in answer.aiter_bytes():
                    for event in decoder.feed(piece):
                        yield json.loads(event.data)
        except httpx2.TransportError as error:
            raise BrainUnavailable(f"The connection to Brain at {self.url} was lost.") from error


class AsyncSession:
    """A session. `data` is the session as Brain last showed it."""

    def __init__(self, brain: AsyncBrain, data: Json) -> None:
        self._brain = brain
        self.data = data
        self.id: str = data["id"]

    async def send(self, content: Content, delivery: Delivery = "queue") -> Json:
        """Send a message: text, or a list of content blocks. It is durable when this returns."""
        body = {"content": content, "delivery": delivery}
        return await self._brain.call("POST", f"/sessions/{self.id}/messages", body)

    async def events(
        self, after: int = 0, until: Literal["idle"] | None = None
    ) -> AsyncGenerator[Json, None]:
        """The session's events: what is there after a point, then what comes.

        Reconnects by itself, and then misses and repeats nothing that is durable. Ends when the
        session is idle, if asked to, or when it is closed.
        """
        query = {} if until is None else {"until": until}
        failures = 0
        while True:
            path = f"/sessions/{self.id}/events"
            try:
                async with aclosing(self._brain.stream(path, query, after)) as stream:
                    async for event in stream:
                        after, failures = event.get("seq", after), 0
                        yield event
                if await self._is_over(after, until):
                    return
                await asyncio.sleep(_FIRST_DELAY)
            except BrainUnavailable:
                failures += 1
                if failures == _ATTEMPTS:
                    raise
                await asyncio.sleep(min(_LONGEST_DELAY, _FIRST_DELAY * 2**failures))

    async def _is_over(self, after: int, until: Literal["idle"] | None) -> bool:
        """Whether a stream that ended has shown all; a server that stops ends its streams, too."""
        try:
            session = await self._brain.call("GET", f"/sessions/{self.id}")
        except BrainError as error:
            return error.status == _GONE
        ended = session["status"] == "closed" or (session["status"] == "idle" and until == "idle")
        return ended and session["last_seq"] <= after

    async def run(
        self, content: Content, delivery: Delivery = "queue"
    ) -> AsyncGenerator[Json, None]:
        """Send a message and give the events from it on, until the session is idle."""
        sent = await self.send(content, delivery)
        async for event in self.events(after=sent["seq"] - 1, until="idle"):
            yield event

    async def interrupt(self, *, keep_queue: bool = False) -> Json:
        """End the running turn."""
        return await self._post("interrupt", {"keep_queue": keep_queue})

    async def close(self) -> None:
        """End the session; it can still be read."""
        self.data = await self._post("close")

    async def delete(self) -> None:
        """Close the session and erase it."""
        await self._brain.call("DELETE", f"/sessions/{self.id}")

    async def _post(self, what: str, body: object = None) -> Json:
        return await self._brain.call("POST", f"/sessions/{self.id}/{what}", body)


def _raise_for(status: int, body: bytes) -> None:
    if status < 400:
        return
    try:
        problem: Json = json.loads(body)
        raise BrainError(status, problem)
    except ValueError:
        raise BrainError(status, {}) from None
