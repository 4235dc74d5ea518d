"""The inbox as it changes, over server-sent events. Above: `routes`. Below: `feed`.

First `inbox` with all that `GET /approvals` gives, then `approval` for each that was asked or has
ended, and `beat` when nothing else was said for a while, so that a reader can tell a dead
connection from a quiet one. A reader that was cut off begins anew: there are no ids to catch up by.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable

import msgspec
from starlette.responses import StreamingResponse

from local_tools.approvals.feed import Feed
from local_tools.approvals.record import Approval

_BEAT_SECONDS = 8.0
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def live(
    feed: Feed, inbox: Callable[[], object], still: Callable[[], bool], now: Callable[[], str]
) -> StreamingResponse:
    """The stream. It ends once its reader is no longer `still` an operator."""
    return StreamingResponse(
        _events(feed, inbox, still, now), media_type="text/event-stream", headers=_HEADERS
    )


async def _events(
    feed: Feed, inbox: Callable[[], object], still: Callable[[], bool], now: Callable[[], str]
) -> AsyncGenerator[bytes]:
    with feed.watched() as changes:
        yield b"retry: 1000\n\n" + _event(b"inbox", inbox())
        while True:
            try:
                async with asyncio.timeout(_BEAT_SECONDS):
                    change = await changes.get()
            except TimeoutError:
                change = True
                yield _event(b"beat", {"now": now()})
            if change is None or not still():
                return
            if isinstance(change, Approval):
                yield _event(b"approval", {"now": now(), "approval": change})


def _event(name: bytes, data: object) -> bytes:
    return b"event: " + name + b"\ndata: " + msgspec.json.encode(data) + b"\n\n"
