"""One watch stream: what an edge follows, gathered into messages. Above: `servicer`.

Whatever is offered goes into a bounded buffer and nobody waits. When the reader is too slow,
live-only events are left out first; when a durable one doesn't fit, the session's events are
dropped and a `Gap` tells the reader to read the log.

Messages go out at once while the stream is quiet. Each event takes a token and tokens come back at
a fixed rate, so that a busy stream gathers for a few milliseconds and pays for fewer messages.
"""

import asyncio
from collections.abc import AsyncIterator

from brain.engine.convert import emitted_to_wire, status_to_wire
from brain.engine.session.fanout import Emitted, EndReason, Fanout, Position
from brainapi.session.v1 import session_service_pb2 as pb

MAX_EVENTS = 20_000
MAX_BYTES = 16 * 1024 * 1024
_BATCH_BYTES = 1024 * 1024
_GATHER_SECONDS = 0.004
# One session that is sent message after message makes some 4,000 events a second, and each of its
# turns would wait for the gathering; beyond that there are others to gather with.
_EVENTS_PER_SECOND = 5_000.0
_BURST = 100.0

_REASONS: "dict[EndReason, pb.EndReason.ValueType]" = {
    "closed": pb.END_REASON_CLOSED,
    "deleted": pb.END_REASON_DELETED,
    "moved": pb.END_REASON_MOVED,
}


class WatchStream:
    """A `Watcher` that turns what it is offered into `WatchEventsResponse`s."""

    def __init__(self, fanout: Fanout) -> None:
        self._fanout = fanout
        self._items: list[pb.WatchItem] = []
        self._bytes = 0
        self._ready = asyncio.Event()
        self._finished = False
        self._watches: dict[int, str] = {}
        self._followed: dict[str, int] = {}

    def subscribe(self, watch_id: int, session_id: str, position: Position) -> None:
        """Follow a session from this position on. A watch id that was in use is used anew."""
        self.unsubscribe(watch_id)
        self._watches[watch_id] = session_id
        self._followed[session_id] = self._followed.get(session_id, 0) + 1
        self._fanout.join(session_id, self)
        subscribed = pb.Subscribed(
            watch_id=watch_id,
            status=status_to_wire(position.status),
            last_seq=position.last_seq,
            idle=position.idle,
        )
        self._put(pb.WatchItem(session_id=session_id, subscribed=subscribed), 0)

    def unsubscribe(self, watch_id: int) -> None:
        session_id = self._watches.pop(watch_id, None)
        if session_id is None:
            return
        self._followed[session_id] -= 1
        if not self._followed[session_id]:
            self._forget(session_id)

    def refuse(self, watch_id: int, session_id: str) -> None:
        """There is no such session for this tenant."""
        self._end(session_id, watch_id, pb.END_REASON_NOT_FOUND)

    def redirect(self, watch_id: int, session_id: str, owner: str) -> None:
        """Another engine has the session's events."""
        ended = pb.Ended(watch_id=watch_id, reason=pb.END_REASON_MOVED, owner=owner)
        self._put(pb.WatchItem(session_id=session_id, ended=ended), 0)

    def offer(self, session_id: str, events: list[Emitted]) -> None:
        for event in events:
            if len(self._items) >= MAX_EVENTS or self._bytes + len(event.body) > MAX_BYTES:
                if event.seq:
                    self._gap(session_id)
                    return
                continue
            item = pb.WatchItem(session_id=session_id, event=emitted_to_wire(event))
            self._put(item, len(event.body))

    def ended(self, session_id: str, reason: EndReason) -> None:
        self._drop(session_id)
        self._end(session_id, 0, _REASONS[reason])

    def finish(self) -> None:
        """End the stream from this side, once what was gathered is sent."""
        self._finished = True
        self._ready.set()

    def close(self) -> None:
        """The stream is over."""
        for session_id in list(self._followed):
            self._drop(session_id)

    async def batches(self) -> AsyncIterator[pb.WatchEventsResponse]:
        """What was gathered, as messages, for as long as the stream lives."""
        pace = _Pace(asyncio.get_running_loop())
        while True:
            await self._ready.wait()
            delay = pace.delay()
            if delay > 0:
                await asyncio.sleep(delay)
            items, self._items, self._bytes = self._items, [], 0
            self._ready.clear()
            pace.sent(len(items))
            for batch in _split(items):
                yield pb.WatchEventsResponse(items=batch)
            if self._finished:
                return

    def _gap(self, session_id: str) -> None:
        """Give a session up: its reader must subscribe again and read the log."""
        self._items = [
            item
            for item in self._items
            if item.session_id != session_id or item.HasField("subscribed")
        ]
        self._bytes = sum(len(item.event.json) for item in self._items)
        self._drop(session_id)
        self._put(pb.WatchItem(session_id=session_id, gap=pb.Gap()), 0)

    def _drop(self, session_id: str) -> None:
        for watch_id in [w for w, watched in self._watches.items() if watched == session_id]:
            del self._watches[watch_id]
        self._forget(session_id)

    def _forget(self, session_id: str) -> None:
        self._followed.pop(session_id, None)
        self._fanout.leave(session_id, self)

    def _end(self, session_id: str, watch_id: int, reason: "pb.EndReason.ValueType") -> None:
        ended = pb.Ended(watch_id=watch_id, reason=reason)
        self._put(pb.WatchItem(session_id=session_id, ended=ended), 0)

    def _put(self, item: pb.WatchItem, size: int) -> None:
        self._items.append(item)
        self._bytes += size
        self._ready.set()


class _Pace:
    """A token bucket over events: what is sent faster than tokens come back is gathered first."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._tokens = _BURST
        self._at = loop.time()

    def delay(self) -> float:
        """Seconds to gather before the next message."""
        now = self._loop.time()
        self._tokens = min(_BURST, self._tokens + (now - self._at) * _EVENTS_PER_SECOND)
        self._at = now
        return min(_GATHER_SECONDS, max(0.0, -self._tokens / _EVENTS_PER_SECOND))

    def sent(self, events: int) -> None:
        """Take the tokens of a message; a debt is never more than one gathering pays off."""
        self._tokens = max(self._tokens - events, -_GATHER_SECONDS * _EVENTS_PER_SECOND)


def _split(items: list[pb.WatchItem]) -> list[list[pb.WatchItem]]:
    """Cut a gathering into messages of a sane size; one larger event is still whole."""
    batches: list[list[pb.WatchItem]] = [[]]
    size = 0
    for item in items:
        length = len(item.event.json)
        if batches[-1] and size + length > _BATCH_BYTES:
            batches.append([])
            size = 0
        batches[-1].append(item)
        size += length
    return batches
