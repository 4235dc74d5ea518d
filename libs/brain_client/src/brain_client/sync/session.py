"""A session. Above: `brain`, applications. Below: `connection`."""

import time
from collections.abc import Generator
from contextlib import closing
from typing import Literal, cast

from brain_client.errors import BrainError, BrainUnavailable, TurnFailed
from brain_client.sync.connection import Connection
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


class Session:
    """A session. `data` is the session as Brain last showed it."""

    def __init__(self, connection: Connection, data: SessionData) -> None:
        self._connection = connection
        self.data = data
        self.id: str = data["id"]
        self._seen: int = data["last_seq"]

    def send(self, content: Content, delivery: Delivery = "queue") -> Accepted:
        """Send a message: text, or a list of content blocks. It is durable when this returns."""
        body = {
            "content": content if isinstance(content, str) else list(content),
            "delivery": delivery,
        }
        return cast("Accepted", self._call("POST", "/messages", body))

    def queue(self) -> list[QueuedMessage]:
        """The messages that wait for their turn, in order."""
        return (self._call("GET", "/messages"))["messages"]

    def withdraw(self, message_id: str) -> None:
        """Withdraw a message that waits. A BrainError of status 404: it was delivered already."""
        self._call("DELETE", f"/messages/{in_path(message_id)}")

    def events(
        self, after: int = 0, until: Literal["idle"] | None = None
    ) -> Generator[Event, None]:
        """The session's events: what is there after a point, then what comes.

        Reconnects by itself, and then misses and repeats nothing that is durable. Ends when the
        session is idle, if asked to, or when it is closed.
        """
        query = {} if until is None else {"until": until}
        failures = 0
        while True:
            try:
                path = f"/sessions/{self.id}/events"
                with closing(self._connection.stream(path, query, after)) as stream:
                    for event in stream:
                        after, failures = event.get("seq", after), 0
                        yield event
                if self._is_over(after, until):
                    return
            except (BrainUnavailable, BrainError) as error:
                failures += 1
                if failures == FOLLOW_ATTEMPTS or not passes(error):
                    raise
            time.sleep(delay_after(failures))

    def _is_over(self, after: int, until: Literal["idle"] | None) -> bool:
        """Whether a stream that ended has shown all; a server that stops ends its streams, too."""
        try:
            session = self._call("GET", "")
        except BrainError as error:
            if error.status == GONE:
                return True
            raise
        ended = session["status"] == "closed" or (session["status"] == "idle" and until == "idle")
        return ended and session["last_seq"] <= after

    def run(self, content: Content, delivery: Delivery = "queue") -> Generator[Event, None]:
        """Send a message and give the events from it on, until the session is idle.

        It follows before it sends, so that it also gets the first words of the answer.
        """
        with closing(self._following(content, delivery)) as turn:
            for event in turn:
                self._seen = event.get("seq", self._seen)
                yield event
        with closing(self.events(after=self._seen, until="idle")) as rest:
            for event in rest:
                self._seen = event.get("seq", self._seen)
                if event["type"] != "session.state":  # the beginning of another stream
                    yield event

    def _following(self, content: Content, delivery: Delivery) -> Generator[Event, None]:
        """The events from the message on, until the next end of a turn."""
        with closing(self.events(after=self._seen)) as events:
            next(events, None)  # the stream is open
            sent = self.send(content, delivery)
            started = False
            for event in events:
                started = started or event.get("seq", 0) >= sent["seq"]
                if started:
                    yield event
                    if event["type"] in TURN_ENDS:
                        return

    def ask(self, content: Content, delivery: Delivery = "queue") -> str:
        """Send a message and wait until the session is idle: the text of the last answer.

        Raises `TurnFailed` if the turn that came last failed or was interrupted.
        """
        said = ""
        problem: TurnFailed | None = None
        with closing(self.run(content, delivery)) as events:
            for event in events:
                if event["type"] == "message.assistant":
                    said = text_of(event)
                elif event["type"] in TURN_ENDS:
                    problem = failure_of(event)
        if problem is not None:
            raise problem
        return said

    def messages(self) -> list[Message]:
        """The conversation: what users and the model have said, in the order of the log."""
        found: list[Message] = []
        after, more = 0, True
        while more:
            page = self._connection.call(
                "GET", f"/sessions/{self.id}/events", query={"after": after}
            )
            found += [message for event in page["events"] if (message := message_of(event))]
            after, more = page["next_after"], page["has_more"]
        return found

    def refresh(self) -> SessionData:
        """The session as it is now; `data` is that from then on."""
        self.data = cast("SessionData", self._call("GET", ""))
        return self.data

    def interrupt(self, *, keep_queue: bool = False) -> Interrupted:
        """End the running turn. Waiting messages are withdrawn, unless the queue is kept."""
        return cast("Interrupted", self._call("POST", "/interrupt", {"keep_queue": keep_queue}))

    def compact(self) -> Compacted:
        """Summarise the older part of the model's context: `tokens_before`, `tokens_after`.

        It is a model call, and takes its time.
        """
        path = f"/sessions/{self.id}/compact"
        made = self._connection.call("POST", path, timeout_seconds=COMPACTION_SECONDS)
        return cast("Compacted", made)

    def close(self) -> None:
        """End the session; it can still be read."""
        self.data = cast("SessionData", self._call("POST", "/close"))

    def delete(self) -> None:
        """Close the session and erase it."""
        self._call("DELETE", "")

    def _call(self, method: str, what: str, body: object = None) -> Json:
        return self._connection.call(method, f"/sessions/{self.id}{what}", body)
