"""A session. Above: `brain`, applications. Below: `connection`."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Literal, cast

from brain_client.aio.connection import AsyncConnection
from brain_client.errors import BrainError, BrainUnavailable, TurnFailed
from brain_client.types import (
    Accepted,
    Compacted,
    Content,
    Delivery,
    Event,
    Interrupted,
    Message,
    QueuedMessage,
    SessionData,
    text_of,
)
from brain_client.wire import (
    COMPACTION_SECONDS,
    FOLLOW_ATTEMPTS,
    GONE,
    TURN_ENDS,
    Json,
    delay_after,
    failure_of,
    in_path,
    message_of,
    passes,
)


class AsyncSession:
    """A session. `data` is the session as Brain last showed it."""

    def __init__(self, connection: AsyncConnection, data: SessionData) -> None:
        self._connection = connection
        self.data = data
        self.id: str = data["id"]
        self._seen: int = data["last_seq"]

    async def send(self, content: Content, delivery: Delivery = "queue") -> Accepted:
        """Send a message: text, or a list of content blocks. It is durable when this returns."""
        body = {
            "content": content if isinstance(content, str) else list(content),
            "delivery": delivery,
        }
        return cast("Accepted", await self._call("POST", "/messages", body))

    async def queue(self) -> list[QueuedMessage]:
        """The messages that wait for their turn, in order."""
        return (await self._call("GET", "/messages"))["messages"]

    async def withdraw(self, message_id: str) -> None:
        """Withdraw a message that waits. A BrainError of status 404: it was delivered already."""
        await self._call("DELETE", f"/messages/{in_path(message_id)}")

    async def events(
        self, after: int = 0, until: Literal["idle"] | None = None
    ) -> AsyncGenerator[Event, None]:
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
                if failures == FOLLOW_ATTEMPTS or not passes(error):
                    raise
            await asyncio.sleep(delay_after(failures))

    async def _is_over(self, after: int, until: Literal["idle"] | None) -> bool:
        """Whether a stream that ended has shown all; a server that stops ends its streams, too."""
        try:
            session = await self._call("GET", "")
        except BrainError as error:
            if error.status == GONE:
                return True
            raise
        ended = session["status"] == "closed" or (session["status"] == "idle" and until == "idle")
        return ended and session["last_seq"] <= after

    async def run(
        self, content: Content, delivery: Delivery = "queue"
    ) -> AsyncGenerator[Event, None]:
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
                if event["type"] != "session.state":  # the beginning of another stream
                    yield event

    async def _following(self, content: Content, delivery: Delivery) -> AsyncGenerator[Event, None]:
        """The events from the message on, until the next end of a turn."""
        async with aclosing(self.events(after=self._seen)) as events:
            await anext(events, None)  # the stream is open
            sent = await self.send(content, delivery)
            started = False
            async for event in events:
                started = started or event.get("seq", 0) >= sent["seq"]
                if started:
                    yield event
                    if event["type"] in TURN_ENDS:
                        return

    async def ask(self, content: Content, delivery: Delivery = "queue") -> str:
        """Send a message and wait until the session is idle: the text of the last answer.

        Raises `TurnFailed` if the turn that came last failed or was interrupted.
        """
        said = ""
        problem: TurnFailed | None = None
        async with aclosing(self.run(content, delivery)) as events:
            async for event in events:
                if event["type"] == "message.assistant":
                    said = text_of(event)
                elif event["type"] in TURN_ENDS:
                    problem = failure_of(event)
        if problem is not None:
            raise problem
        return said

    async def messages(self) -> list[Message]:
        """The conversation: what users and the model have said, in the order of the log."""
        found: list[Message] = []
        after, more = 0, True
        while more:
            page = await self._connection.call(
                "GET", f"/sessions/{self.id}/events", query={"after": after}
            )
            found += [message for event in page["events"] if (message := message_of(event))]
            after, more = page["next_after"], page["has_more"]
        return found

    async def refresh(self) -> SessionData:
        """The session as it is now; `data` is that from then on."""
        self.data = cast("SessionData", await self._call("GET", ""))
        return self.data

    async def interrupt(self, *, keep_queue: bool = False) -> Interrupted:
        """End the running turn. Waiting messages are withdrawn, unless the queue is kept."""
        return cast(
            "Interrupted", await self._call("POST", "/interrupt", {"keep_queue": keep_queue})
        )

    async def compact(self) -> Compacted:
        """Summarise the older part of the model's context: `tokens_before`, `tokens_after`.

        It is a model call, and takes its time.
        """
        path = f"/sessions/{self.id}/compact"
        made = await self._connection.call("POST", path, timeout_seconds=COMPACTION_SECONDS)
        return cast("Compacted", made)

    async def close(self) -> None:
        """End the session; it can still be read."""
        self.data = cast("SessionData", await self._call("POST", "/close"))

    async def delete(self) -> None:
        """Close the session and erase it."""
        await self._call("DELETE", "")

    async def _call(self, method: str, what: str, body: object = None) -> Json:
        return await self._connection.call(method, f"/sessions/{self.id}{what}", body)
