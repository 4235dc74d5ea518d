"""Live readers of sessions. Above: `servicer`'s watch streams. Below: nothing.

What is published here is durable already, or live-only. Nobody waits for a reader.
"""

from typing import Literal, NamedTuple, Protocol

from brain_core.session import Status

EndReason = Literal["closed", "deleted", "moved"]


class Emitted(NamedTuple):
    """An event on its way out: `seq` is 0 if it is live-only; `idle` is the session's, after it."""

    seq: int
    type: str
    body: bytes
    idle: bool


class Position(NamedTuple):
    """Where a session stands, as far as readers have been shown."""

    status: Status
    last_seq: int
    idle: bool


class Watcher(Protocol):
    """A reader of one or more sessions. Its methods return at once and never raise."""

    def offer(self, session_id: str, events: list[Emitted]) -> None:
        """Take events of a session."""
        ...

    def ended(self, session_id: str, reason: EndReason) -> None:
        """Nothing more will come of this session."""
        ...


class Fanout:
    """Who watches which session."""

    def __init__(self) -> None:
        self._watchers: dict[str, set[Watcher]] = {}

    def join(self, session_id: str, watcher: Watcher) -> None:
        self._watchers.setdefault(session_id, set()).add(watcher)

    def leave(self, session_id: str, watcher: Watcher) -> None:
        watchers = self._watchers.get(session_id)
        if watchers is not None:
            watchers.discard(watcher)
            if not watchers:
                del self._watchers[session_id]

    def watched(self, session_id: str) -> bool:
        """Whether anyone would see a live-only event."""
        return session_id in self._watchers

    def publish(self, session_id: str, events: list[Emitted]) -> None:
        for watcher in tuple(self._watchers.get(session_id, ())):
            watcher.offer(session_id, events)

    def end(self, session_id: str, reason: EndReason) -> None:
        for watcher in tuple(self._watchers.get(session_id, ())):
            watcher.ended(session_id, reason)
