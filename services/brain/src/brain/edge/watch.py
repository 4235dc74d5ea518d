"""The one stream of events from an engine to this process, fanned out to its followers.

Above: `watches`. Below: the rpc WatchEvents. An event of a session arrives once, becomes a frame
once, and goes to every follower that had joined by then. A follower that lost its place (`Gap`,
a broken stream) is subscribed again and catches up from the log. One whose session another engine
has is left to `watches`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable

import structlog
from grpc.aio import AioRpcError

from brain.edge.convert import STATUS_NAMES
from brain.edge.follower import Follower, Standing
from brain.edge.frames import frame_of
from brain.edge.link import Link
from brainapi.event.v1.event_pb2 import Event
from brainapi.session.v1 import session_service_pb2 as pb

REJOIN_DELAY_SECONDS = 0.25
_FIRST_BACKOFF_SECONDS = 0.1
_MAX_BACKOFF_SECONDS = 2.0

_log = structlog.get_logger(__name__)


class Watch:
    """Keeps the stream open while it runs, and opens it anew whenever it breaks.

    `link` says where to; `moved` is told of a follower whose session is elsewhere, and of the
    engine that has it, if it was named. With `broken`, a stream that broke is not opened again;
    its followers are handed over instead.
    """

    def __init__(
        self,
        link: Callable[[], Link],
        moved: Callable[[Follower, str], None],
        broken: Callable[[], None] | None = None,
    ) -> None:
        self._link = link
        self._moved = moved
        self._broken = broken
        self._followers: dict[Follower, int] = {}
        self._by_watch_id: dict[int, Follower] = {}
        self._live: dict[str, list[Follower]] = {}
        self._last_watch_id = 0
        self._requests: asyncio.Queue[pb.WatchEventsRequest | None] = asyncio.Queue()
        self._connected = False
        self._wanted = asyncio.Event()
        self._closed = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Open the stream."""
        self._task = asyncio.create_task(self._run(), name="watch")

    def end_streams(self) -> None:
        """End every follower, now and from now on: the server is about to stop."""
        self._closed = True
        for follower in self._followers:
            follower.end()

    async def close(self) -> None:
        """End everything."""
        self.end_streams()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def add(self, follower: Follower) -> None:
        """Begin to follow; the follower's phase tells what came of it."""
        if self._closed:
            follower.end("unavailable")
            return
        self._followers[follower] = 0
        self._subscribe(follower)
        self._wanted.set()

    @property
    def followers(self) -> list[Follower]:
        """All that were added and not removed."""
        return list(self._followers)

    def remove(self, follower: Follower) -> None:
        """Stop following."""
        if self._followers.get(follower) is None:
            return
        self._unsubscribe(follower)
        del self._followers[follower]

    def rejoin_later(self, follower: Follower) -> None:
        """The follower's place was lost; subscribe again after a moment."""
        self._unsubscribe(follower)
        follower.lose()
        loop = asyncio.get_running_loop()
        loop.call_later(REJOIN_DELAY_SECONDS, self._subscribe, follower)

    # Subscriptions.

    def _subscribe(self, follower: Follower) -> None:
        if follower not in self._followers or self._followers[follower] or follower.over:
            return
        self._last_watch_id += 1
        self._followers[follower] = self._last_watch_id
        self._by_watch_id[self._last_watch_id] = follower
        self._requests.put_nowait(
            pb.WatchEventsRequest(
                subscribe=pb.Subscribe(
                    watch_id=self._last_watch_id,
                    tenant_id=follower.tenant_id,
                    session_id=follower.session_id,
                )
            )
        )

    def _unsubscribe(self, follower: Follower) -> None:
        watch_id = self._forget(follower)
        if watch_id:
            request = pb.WatchEventsRequest(unsubscribe=pb.Unsubscribe(watch_id=watch_id))
            self._requests.put_nowait(request)

    def _forget(self, follower: Follower) -> int:
        """Take the follower off the stream; gives the watch id it had, or 0."""
        watch_id = self._followers.get(follower, 0)
        if watch_id:
            self._followers[follower] = 0
            del self._by_watch_id[watch_id]
        live = self._live.get(follower.session_id, [])
        if follower in live:
            live.remove(follower)
            if not live:
                del self._live[follower.session_id]
        return watch_id

    # The stream.

    async def _run(self) -> None:
        backoff = _FIRST_BACKOFF_SECONDS
        lost = True  # an engine that starts a moment later than the edge is no loss
        while True:
            try:
                await self._stream()
                reason = "ended"
            except AioRpcError as error:
                reason = str(error.code())
            except Exception:  # noqa: BLE001 - without this stream no client is told anything
                _log.exception("watch_failed")
                reason = "failed"
            if self._connected:
                backoff, lost, self._connected = _FIRST_BACKOFF_SECONDS, False, False
            if not lost:
                _log.warning("watch_lost", reason=reason, followers=len(self._followers))
                lost = True
            if self._broken is not None:
                self._broken()
                return
            self._break()
            await self._pause(backoff)
            backoff = min(backoff * 2, _MAX_BACKOFF_SECONDS)

    async def _stream(self) -> None:
        """One connection, until it breaks."""
        self._requests = asyncio.Queue()
        for follower in list(self._followers):
            self._forget(follower)  # it may have come in the pause, and asked the stream before
            self._subscribe(follower)
        link = self._link()
        call = link.stub.WatchEvents(_drain(self._requests), metadata=link.metadata)
        try:
            async for response in call:
                self._connected = True
                for item in response.items:
                    self._dispatch(item)
        finally:
            call.cancel()
            # gRPC leaves its reader of requests waiting when a call has ended by itself.
            self._requests.put_nowait(None)

    def _break(self) -> None:
        """Whoever had joined waits for the next connection; whoever hadn't is told."""
        for follower in list(self._followers):
            self._forget(follower)
            if follower.standing is None:
                follower.end("unavailable")
            else:
                follower.lose()

    async def _pause(self, seconds: float) -> None:
        """Wait before the next attempt, but not while a new follower waits for it."""
        self._wanted.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._wanted.wait()
        except TimeoutError:
            pass

    # What arrives.

    def _dispatch(self, item: pb.WatchItem) -> None:
        match item.WhichOneof("item"):
            case "event":
                self._event(item.session_id, item.event)
            case "subscribed":
                self._subscribed(item.subscribed)
            case "gap":
                for follower in list(self._live.get(item.session_id, ())):
                    self._unsubscribe(follower)
                    follower.lose()
                    self._subscribe(follower)
            case "ended":
                self._ended(item.session_id, item.ended)
            case None:
                pass  # an item that this version doesn't know

    def _event(self, session_id: str, event: Event) -> None:
        followers = self._live.get(session_id)
        if followers is None:
            return
        frame = frame_of(event)
        for follower in followers:
            follower.push(frame)

    def _subscribed(self, subscribed: pb.Subscribed) -> None:
        follower = self._by_watch_id.get(subscribed.watch_id)
        if follower is None:
            return  # it left before the answer came
        status = STATUS_NAMES[subscribed.status]
        follower.join(Standing(status, subscribed.last_seq, subscribed.idle))
        self._live.setdefault(follower.session_id, []).append(follower)

    def _ended(self, session_id: str, ended: pb.Ended) -> None:
        for follower in self._those(session_id, ended.watch_id):
            match ended.reason:
                case pb.END_REASON_MOVED:
                    self._forget(follower)
                    self._moved(follower, ended.owner)
                    continue
                case pb.END_REASON_CLOSED:
                    follower.close()
                case pb.END_REASON_NOT_FOUND:
                    follower.end("missing")
                case _:
                    follower.end()
            self._forget(follower)

    def _those(self, session_id: str, watch_id: int) -> list[Follower]:
        if not watch_id:
            return list(self._live.get(session_id, ()))
        follower = self._by_watch_id.get(watch_id)
        return [] if follower is None else [follower]


async def _drain(
    requests: asyncio.Queue[pb.WatchEventsRequest | None],
) -> AsyncIterator[pb.WatchEventsRequest]:
    while (request := await requests.get()) is not None:
        yield request
