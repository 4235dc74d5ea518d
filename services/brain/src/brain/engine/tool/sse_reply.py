"""A reply that is a stream of events. Above: `http_call`. Below: `sse_events`."""

import asyncio
from collections.abc import Awaitable, Callable

from brain.engine.tool.json_reply import More, too_large
from brain.engine.tool.outcome import Code, Failure
from brain.engine.tool.sse_events import EventParser, ServerSentEvent

OnProgress = Callable[[bytes], Awaitable[Failure | None]]
"""Takes the data of a progress event; a failure ends the call."""


async def read_events(more: More, max_bytes: int, on_progress: OnProgress) -> bytes | Failure:
    """The data of the `result` event, which ends the stream: what follows it is not read."""
    parser = EventParser()
    left = max_bytes
    while chunk := await more():
        for event in parser.feed(chunk[:left]):
            ended = await _take(event, on_progress)
            if ended is not None:
                return ended
        left -= len(chunk)
        if left < 0:
            return too_large(max_bytes)
        # A flood of small events must not keep the event loop from the other sessions.
        await asyncio.sleep(0)
    return Failure(Code.NO_RESULT)


async def _take(event: ServerSentEvent, on_progress: OnProgress) -> bytes | Failure | None:
    if event.name == b"result":
        return event.data
    if event.name != b"progress":
        return Failure(Code.BAD_EVENT, f"It is named {_shown(event.name)}.")
    return await on_progress(event.data)


def _shown(name: bytes) -> str:
    return repr(name[:60].decode(errors="replace")) if name else "nothing"
