"""What an engine of the drivers knows of its own writes, kept where no kill can take it away.

Above: `engine` writes it, `check` reads it. Below: any `EventLog`. One line for each event of which
the log has said that it is durable, and for each write that it has refused to a stale owner.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from brain.engine.log.protocol import Append, EventLog, SessionRecord, StaleOwner, StoredEvent

Json = dict[str, Any]


class Durable(Struct, frozen=True):
    """An event that the log took, from the owner of an epoch."""

    session_id: str
    epoch: int
    event: Json


class Seen(Struct):
    """All that the engines of a run have seen. `refused` counts the stale writes."""

    durable: dict[str, list[Durable]]
    refused: int = 0


class Witness:
    """A file that is written line by line; a killed process loses no line."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def durable(self, session_id: str, epoch: int, events: Iterable[StoredEvent]) -> None:
        head = json.dumps([session_id, epoch]).encode()
        self._write(b"".join(b"[%b,%b]\n" % (head, event.body) for event in events))

    def refused(self, session_id: str) -> None:
        self._write(json.dumps([session_id]).encode() + b"\n")

    def _write(self, lines: bytes) -> None:
        os.write(self._file, lines)


def read(paths: Iterable[Path]) -> Seen:
    """All that was seen, in the order in which each engine saw it."""
    seen = Seen({})
    for path in paths:
        for line in _whole_lines(path):
            if len(line) == 1:
                seen.refused += 1
                continue
            (session_id, epoch), event = line
            seen.durable.setdefault(session_id, []).append(Durable(session_id, epoch, event))
    return seen


def _whole_lines(path: Path) -> Iterator[list[Any]]:
    if path.exists():
        for line in path.read_bytes().split(b"\n")[:-1]:
            yield json.loads(line)


def witnessed(log: EventLog, witness: Witness) -> EventLog:
    """The same log, with somebody who sees what it says of writes."""
    return cast("EventLog", _WitnessedLog(log, witness))


class _WitnessedLog:
    def __init__(self, log: EventLog, witness: Witness) -> None:
        self._log = log
        self._witness = witness

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def append(self, append: Append) -> Awaitable[None]:
        return self._seen(append.session_id, append.epoch, append.events, self._log.append(append))

    def create(self, record: SessionRecord, event: StoredEvent, *more: Any) -> Awaitable[int]:
        return self._seen(record.id, 1, (event,), self._log.create(record, event, *more))

    def _seen(
        self, session_id: str, epoch: int, events: Iterable[StoredEvent], write: Awaitable[Any]
    ) -> Awaitable[Any]:
        writing = asyncio.ensure_future(write)

        def on_written(done: "asyncio.Future[Any]") -> None:
            if done.cancelled():
                return
            error = done.exception()
            if error is None:
                self._witness.durable(session_id, epoch, events)
            elif isinstance(error, StaleOwner):
                self._witness.refused(session_id)

        writing.add_done_callback(on_written)
        return writing
