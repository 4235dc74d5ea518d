"""Named moments of an engine at which it dies, or is stopped. Above: `engine`, `driver`.

Below: any `EventLog`. A point of the log is `before:TYPE` or `after:TYPE`: events of that type are
about to be committed, or have been, and nobody has been told of it yet. A point of a call is one of
the tool service's, which sees a request and its answer from the other side.
"""

import asyncio
import os
import signal
from collections.abc import Awaitable, Iterable
from pathlib import Path
from typing import Any, Literal, cast

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

LOG_POINTS = tuple(f"{side}:{kind}" for kind in KINDS for side in ("before", "after"))
CALL_POINTS = ("call:arrived", "call:answering", "call:streaming", "call:answered")
"""The request is there; the answer's head is sent; half of the answer is; all of it is."""

POINTS = (*LOG_POINTS, *CALL_POINTS)
STOPS = ("before:tool.call", "after:tool.call", "before:tool.result", "before:turn.started")
"""Where an owner that is stopped for longer than its lease could do the most harm after it."""

Action = Literal["kill", "stop"]
_SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}


class Trap:
    """A file in which a driver names the point at which a process shall meet its signal.

    The process takes it away when it comes to the point, which the driver sees.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def set(self, point: str, action: Action = "kill") -> None:
        """Whoever comes to the point first meets it."""
        part = self._path.with_suffix(".part")
        part.write_text(f"{point} {action}", "utf-8")
        part.rename(self._path)

    def take_back(self) -> bool:
        """No more; whether nobody had come to the point."""
        try:
            self._path.unlink()
        except FileNotFoundError:
            return False
        return True

    @property
    def is_set(self) -> bool:
        return self._path.exists()

    def at(self, side: str, events: Iterable[StoredEvent]) -> signal.Signals | None:
        """What to meet there, if this is the point."""
        try:
            point, action = self._path.read_text("utf-8").split()
        except FileNotFoundError:
            return None
        if any(point == f"{side}:{event.type}" for event in events) and self.take_back():
            return _SIGNALS[action]
        return None


def trapped(log: EventLog, trap: Trap) -> EventLog:
    """The same log, until a point is reached."""
    return cast("EventLog", _TrappedLog(log, trap))


class _TrappedLog:
    def __init__(self, log: EventLog, trap: Trap) -> None:
        self._log = log
        self._trap = trap

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def append(self, append: Append, *more: Any) -> Awaitable[Any]:
        return self._write(append.events, lambda: self._log.append(append, *more))

    def create(self, record: SessionRecord, event: StoredEvent, *more: Any) -> Awaitable[Any]:
        return self._write((event,), lambda: self._log.create(record, event, *more))

    def _write(self, events: Iterable[StoredEvent], write: Any) -> Awaitable[Any]:
        self._meet("before", events)
        written = asyncio.ensure_future(write())

        def on_written(_: "asyncio.Future[Any]") -> None:
            self._meet("after", events)

        # The first to be told, so nobody else ever is.
        written.add_done_callback(on_written)
        return written

    def _meet(self, side: str, events: Iterable[StoredEvent]) -> None:
        number = self._trap.at(side, events)
        if number is not None:
            os.kill(os.getpid(), number)
