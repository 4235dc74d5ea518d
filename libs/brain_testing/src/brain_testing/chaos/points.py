"""Named moments of an engine at which it dies. Above: `engine`. Below: any `EventLog`.

A point is `before:TYPE` or `after:TYPE`: events of that type are about to be committed, or have
been, and nobody has been told of it yet. `before:tool.call:3` is the third such commit.
"""

import asyncio
import os
import signal
from collections.abc import Awaitable, Iterable
from typing import Any, cast

from brain.engine.log.protocol import Append, EventLog, SessionRecord, StoredEvent

KINDS = (
    "session.created",
    "message.user",
    "turn.started",
    "message.assistant",
    "tool.call",
    "tool.result",
    "message.delivered",
    "model.retry",
    "context.compacted",
    "turn.completed",
    "turn.interrupted",
    "turn.recovered",
    "message.withdrawn",
    "session.closed",
)
"""Every type of event of which the drivers' sessions have some."""

POINTS = tuple(f"{side}:{kind}" for kind in KINDS for side in ("before", "after"))


class Point:
    """The moment. `reached` is told what is being written."""

    def __init__(self, text: str) -> None:
        self.side, self._kind, *count = text.split(":")
        self._left = int(count[0]) if count else 1

    def reached(self, events: Iterable[StoredEvent]) -> bool:
        """Whether this write is the one."""
        if self._left and any(event.type == self._kind for event in events):
            self._left -= 1
            return self._left == 0
        return False


def dying(log: EventLog, point: Point) -> EventLog:
    """The same log, until the point is reached."""
    return cast("EventLog", _DyingLog(log, point))


class _DyingLog:
    def __init__(self, log: EventLog, point: Point) -> None:
        self._log = log
        self._point = point

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def append(self, append: Append, *more: Any) -> Awaitable[Any]:
        return self._write(append.events, lambda: self._log.append(append, *more))

    def create(self, record: SessionRecord, event: StoredEvent, *more: Any) -> Awaitable[Any]:
        return self._write((event,), lambda: self._log.create(record, event, *more))

    def _write(self, events: Iterable[StoredEvent], write: Any) -> Awaitable[Any]:
        now = self._point.reached(events)
        if now and self._point.side == "before":
            _die()
        written = asyncio.ensure_future(write())
        if now:
            # The first to be told, so nobody else ever is.
            written.add_done_callback(_die_then)
        return written


def _die_then(_written: "asyncio.Future[Any]") -> None:
    _die()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
