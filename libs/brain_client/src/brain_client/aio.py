"""The asynchronous client. Above: applications, `brain chat`. Below: `connection`."""

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import quote

from brain_client.connection import Connection, Json
from brain_client.errors import BrainError, BrainUnavailable

Content = str | list[Json]
Delivery = Literal["queue", "steer", "interrupt", "reject"]

DEFAULT_URL = "http://127.0.0.1:8080"
_GONE = 404
_PASSING = (429, 502, 503, 504)
"""What a follower waits out: an engine that restarts, or a proxy that doesn't find the edge."""
_FIRST_DELAY, _LONGEST_DELAY, _ATTEMPTS = 0.1, 5.0, 10
_TURN_ENDS = ("turn.completed", "turn.failed", "turn.interrupted")
_COMPACTION_SECONDS = 600.0


class AsyncBrain:
    """Brain, as one tenant sees it.

    `url` and `key` default to the variables BRAIN_URL and BRAIN_API_KEY. Raises `BrainError` for
    what Brain refuses and `BrainUnavailable` when it can't be reached.
    """

    def __init__(self, url: str | None = None, key: str | None = None) -> None:
        self._connection = Connection(
            url or os.environ.get("BRAIN_URL") or DEFAULT_URL,
            key or os.environ.get("BRAIN_API_KEY") or "",
        )
        self.url = self._connection.url

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
        await self._connection.aclose()

    async def catalog(self) -> Json:
        """The harnesses, models and tools that this tenant may use."""
        return await self.call("GET", "/catalog")

    async def create(self, session: Mapping[str, Any]) -> "AsyncSession":
        """A new session, from the body of `POST /sessions`."""
        made = await self.call("POST", "/sessions", dict(session))
        return AsyncSession(self._connection, made)

    async def session(self, session_id: str) -> "AsyncSession":
        """A session that is there already."""
        found = await self.call("GET", f"/sessions/{_in_path(session_id)}")
        return AsyncSession(self._connection, found)

    async def sessions(self, **query: Any) -> Json:
        """A page of sessions, newest first: `limit`, `cursor`, `status`."""
        return await self.call("GET", "/sessions", query=query)

    async def usage(self, first_day: str | None = None, last_day: str | None = None) -> Json:
        """What the tenant has used, by day and model, and the sum. Days are `2026-12-31`, in UTC.

        What isn't known is None.
        """
        days = {"from": first_day, "to": last_day}
        return await self.call("GET", "/usage", query={k: v for k, v in days.items() if v})

    async def call(
        self, method: str, path: str, body: object = None, query: Mapping[str, Any] | None = None
    ) -> Json:
        """Any request of the HTTP API: its answer's JSON."""
        return await self._connection.call(method, path, body, query)


class AsyncSession:
    """A session. `data` is the session as Brain last showed it."""

    def __init__(self, connection: Connection, data: Json) -> None:
        self._connection = connection
        self.data = data
        self.id: str = data["id"]
        self._seen: int = data["last_seq"]

    async def send(self, content: Content, delivery: Delivery = "queue") -> Json:
        """Send a message: text, or a list of content blocks. It is durable when this returns."""
        return await self._call("POST", "/messages", {"content": content, "delivery": delivery})

    async def queue(self) -> list[Json]:
        """The messages that wait for their turn, in order."""
        return (await self._call("GET", "/messages"))["messages"]

    async def withdraw(self, message_id: str) -> None:
        """Withdraw a message that waits. A BrainError of status 404: it was delivered already."""
        await self._call("DELETE", f"/messages/{_in_path(message_id)}")

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
            try:
                path = f"/sessions/{self.id}/events"
                async with aclosing(self._connection.stream(path, query, after)) as stream:
                    async for event in stream:
                        after, failures = event.get("seq", after), 0
                        yield event
                if await self._is_over(after, until):
                    return
            except (BrainUnavailable, BrainError) as error:
                failures += 1
                if failures == _ATTEMPTS or not _passes(error):
                    raise
            await asyncio.sleep(min(_LONGEST_DELAY, _FIRST_DELAY * 2**failures))

    async def _is_over(self, after: int, until: Literal["idle"] | None) -> bool:
        """Whether a stream that ended has shown all; a server that stops ends its streams, too."""
        try:
            session = await self._call("GET", "")
        except BrainError as error:
            if error.status == _GONE:
                return True
            raise
        ended = session["status"] == "closed" or (session["status"] == "idle" and until == "idle")
        return ended and session["last_seq"] <= after

    async def run(
        self, content: Content, delivery: Delivery = "queue"
    ) -> AsyncGenerator[Json, None]:
        """Send a message and give the events from it on, until the session is idle.

        It follows before it sends, so that it also gets the first words of the answer.
        """
        async with aclosing(self._following(content, delivery)) as turn:
            async for event in turn:
                self._seen = event.get("seq", self._seen)
                yield event
        async with aclosing(self.events(after=self._seen, until="idle")) as rest:
            async for event in rest:
                self._seen = event.get("seq", self._seen)
                yield event

    async def _following(self, content: Content, delivery: Delivery) -> AsyncGenerator[Json, None]:
        """The events from the message on, until the next end of a turn."""
        async with aclosing(self.events(after=self._seen)) as events:
            await anext(events, None)  # the stream is open
            sent = await self.send(content, delivery)
            started = False
            async for event in events:
                started = started or event.get("seq", 0) >= sent["seq"]
                if started:
                    yield event
                    if event["type"] in _TURN_ENDS:
                        return

    async def interrupt(self, *, keep_queue: bool = False) -> Json:
        """End the running turn."""
        return await self._call("POST", "/interrupt", {"keep_queue": keep_queue})

    async def compact(self) -> Json:
        """Summarise the older part of the model's context: `tokens_before`, `tokens_after`.

        It is a model call, and takes its time.
        """
        path = f"/sessions/{self.id}/compact"
        return await self._connection.call("POST", path, timeout_seconds=_COMPACTION_SECONDS)

    async def close(self) -> None:
        """End the session; it can still be read."""
        self.data = await self._call("POST", "/close")

    async def delete(self) -> None:
        """Close the session and erase it."""
        await self._call("DELETE", "")

    async def _call(self, method: str, what: str, body: object = None) -> Json:
        return await self._connection.call(method, f"/sessions/{self.id}{what}", body)


def _in_path(ident: str) -> str:
    return quote(ident, safe="")


def _passes(error: BrainUnavailable | BrainError) -> bool:
    return isinstance(error, BrainUnavailable) or error.status in _PASSING
