"""One reader of a session: what it has had, and what waits for it.

Above: `sse`, which takes from it. Below: `watch`, which gives to it. A follower reads the log up
to `_behind_to` and then what is in its queue, which begins right after that. It starts that way,
and it falls back to it whenever the live events it was given no longer join up with the log:
after a gap, a lost connection, or when its client reads too slowly. So there is one path for all
of these, with no gap and no repeat.
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Literal, NamedTuple

from brain.edge.frames import HEARTBEAT, Frame
from brain_core.session import Status

Phase = Literal["joining", "live", "ended", "missing", "unavailable"]


class Standing(NamedTuple):
    """Where the session stood when a follower joined it."""

    status: Status
    last_seq: int
    idle: bool


class Follower:
    """A bounded queue between the engine's stream and one client.

    Live-only events are dropped first; when durable ones don't fit, the queue is emptied and the
    log is read instead.
    """

    def __init__(
        self,
        tenant_id: str,
        session_id: str,
        *,
        after: int,
        until_idle: bool,
        max_frames: int,
        max_bytes: int,
    ) -> None:
        self.tenant_id = tenant_id
        self.session_id = session_id
        self.sent = after
        self.phase: Phase = "joining"
        self.standing: Standing | None = None
        self._until_idle = until_idle
        self._max_frames = max_frames
        self._max_bytes = max_bytes
        self._queue: deque[Frame] = deque()
        self._queued_bytes = 0
        self._behind_to = 0
        self._newest = 0
        self._end_at: int | None = None
        self._beat = False
        self._waiter: asyncio.Future[None] | None = None

    # What the watch tells.

    def join(self, standing: Standing) -> None:
        """Live events follow from here on; what was before is in the log."""
        if self.over:
            return  # its client left before the engine answered
        if self.standing is None:
            self.standing = standing
        self._clear()
        self._behind_to = self._newest = standing.last_seq
        self.phase = "live"
        if standing.status == "closed" or (self._until_idle and standing.idle):
            self._end_after(standing.last_seq)
        self._wake()

    def push(self, frame: Frame) -> None:
        """The next live event."""
        if frame.seq:
            self._newest = frame.seq
            if frame.idle and self._until_idle:
                self._end_after(frame.seq)
        if self._fits(frame) or (frame.seq and self._make_room(frame)):
            self._queue.append(frame)
            self._queued_bytes += len(frame.data)
        self._wake()

    def lose(self) -> None:
        """Live events no longer arrive; another `join` will say from where they do."""
        if not self.over:
            self.phase = "joining"

    def close(self) -> None:
        """The session was closed: what came so far is all."""
        self._end_after(self._newest)
        self._wake()

    def end(self, phase: Literal["ended", "missing", "unavailable"] = "ended") -> None:
        """Nothing follows any more; what waits is still handed out."""
        if not self.over:
            self.phase = phase
        self._wake()

    def beat(self) -> None:
        """A sign of life is due."""
        self._beat = True
        self._wake()

    # What the stream asks.

    @property
    def over(self) -> bool:
        """No live event will be pushed any more."""
        return self.phase in {"ended", "missing", "unavailable"}

    @property
    def must_read_log(self) -> bool:
        """The next events are in the log, not in the queue."""
        return self._behind and self.phase == "live" and not self.finished

    @property
    def finished(self) -> bool:
        """Everything that this reader is to see was handed out."""
        return self._at_end or (self.over and (self._behind or not self._queue))

    @property
    def quiet(self) -> bool:
        """There is nothing to take now."""
        return not self._beat and (self._behind or not self._queue)

    def take(self) -> bytes:
        """What waits, joined; empty if nothing does."""
        out: list[bytes] = []
        if not self._behind:
            self.advance(self._queue, out)
            self._clear()
        if self._beat:
            self._beat = False
            out.append(HEARTBEAT)
        return b"".join(out)

    def advance(self, frames: Iterable[Frame], out: list[bytes]) -> None:
        """Move those of `frames` to `out` that this reader hasn't had and is to see."""
        for frame in frames:
            if self._at_end:
                return
            if not frame.seq:
                out.append(frame.data)
            elif frame.seq > self.sent:
                out.append(frame.data)
                self.sent = frame.seq
            else:
                out.clear()  # live-only events from before what the log already gave

    async def wait(self) -> None:
        """Return when something may have changed."""
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    # The queue.

    @property
    def _behind(self) -> bool:
        return self.sent < self._behind_to

    @property
    def _at_end(self) -> bool:
        return self._end_at is not None and self.sent >= self._end_at

    def _fits(self, frame: Frame) -> bool:
        if not self._queue:
            return True  # whatever its size: else a large event would never pass
        return (
            len(self._queue) < self._max_frames
            and self._queued_bytes + len(frame.data) <= self._max_bytes
        )

    def _make_room(self, frame: Frame) -> bool:
        durable = [queued for queued in self._queue if queued.seq]
        self._clear()
        self._queue.extend(durable)
        self._queued_bytes = sum(len(queued.data) for queued in durable)
        if self._fits(frame):
            return True
        self._clear()
        self._behind_to = frame.seq
        return False

    def _clear(self) -> None:
        self._queue.clear()
        self._queued_bytes = 0

    def _end_after(self, seq: int) -> None:
        if self._end_at is None or seq < self._end_at:
            self._end_at = seq

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
