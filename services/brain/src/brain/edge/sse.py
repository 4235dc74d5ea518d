"""A session's events as a server-sent event stream.

Above: the events route. Below: `watch` and `follower` for what happens now, the rpc ListEvents
for what happened before. What waits for a client goes out as one piece.
"""

import asyncio
from collections.abc import Awaitable, Callable

import grpc
from grpc.aio import AioRpcError
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from brain.edge.engine_client import EngineClient
from brain.edge.follower import Follower, Standing
from brain.edge.frames import HEARTBEAT, frame_of, state_frame
from brain.edge.problems import not_found, unavailable
from brain.edge.watches import Watches
from brainapi.session.v1.session_service_pb2 import ListEventsRequest

PAGE_EVENTS = 200
# A client that doesn't read holds a page in this process's memory.
PAGE_BYTES = 256 * 1024
# Short, as a stream that waits for a page shows no sign of life.
PAGE_TIMEOUT_SECONDS = 4.0
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

StillAllowed = Callable[[], Awaitable[bool]]


async def join(watch: Watches, follower: Follower, timeout_seconds: float) -> Standing:
    """Begin to follow, and say where the session stands. Raises: ProblemError."""
    watch.add(follower)
    try:
        async with asyncio.timeout(timeout_seconds):
            while follower.standing is None and not follower.over:
                await follower.wait()
    except TimeoutError:
        follower.end("unavailable")
    except BaseException:
        watch.remove(follower)
        raise
    if follower.standing is not None:
        return follower.standing
    watch.remove(follower)
    raise not_found() if follower.phase == "missing" else unavailable()


class EventStream(Response):
    """Sends what a follower gets until it is finished, the client leaves or may no longer read.

    `still_allowed` is asked at every beat, once in `beat_seconds`.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        engine: EngineClient,
        watch: Watches,
        follower: Follower,
        standing: Standing,
        *,
        beat_seconds: float,
        still_allowed: StillAllowed | None,
    ) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers(_HEADERS)
        self._engine = engine
        self._watch = watch
        self._follower = follower
        self._standing = standing
        self._beat_seconds = beat_seconds
        self._still_allowed = still_allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        helpers = [
            asyncio.create_task(self._until_disconnect(receive)),
            asyncio.create_task(self._beats()),
        ]
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await self._send_all(send)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._watch.remove(self._follower)
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)

    async def _send_all(self, send: Send) -> None:
        follower, standing = self._follower, self._standing
        chunk = HEARTBEAT + state_frame(follower.session_id, standing.status, standing.last_seq)
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
        while not follower.finished:
            if follower.must_read_log:
                chunk = follower.take() + await self._page()
            elif follower.quiet:
                await follower.wait()
                continue
            else:
                chunk = follower.take()
            if chunk:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def _page(self) -> bytes:
        """The next piece of the log."""
        follower = self._follower
        request = ListEventsRequest(
            tenant_id=follower.tenant_id,
            session_id=follower.session_id,
            after=follower.sent,
            limit=PAGE_EVENTS,
            max_bytes=PAGE_BYTES,
        )
        try:
            page = await self._engine.call(lambda to: to.ListEvents, request, PAGE_TIMEOUT_SECONDS)
        except AioRpcError as error:
            if error.code() is grpc.StatusCode.NOT_FOUND:
                follower.end("missing")
            else:
                self._watch.rejoin_later(follower)
            return b""
        if not page.events:
            self._watch.rejoin_later(follower)
        out: list[bytes] = []
        follower.advance(map(frame_of, page.events), out)
        return b"".join(out)

    async def _until_disconnect(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._follower.end()

    async def _beats(self) -> None:
        while True:
            await asyncio.sleep(self._beat_seconds)
            if self._still_allowed is not None and not await self._still_allowed():
                self._follower.end()
            self._follower.beat()
