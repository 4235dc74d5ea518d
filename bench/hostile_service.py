"""A tool service that hangs, trickles or floods, by the last part of the path it is called at.

Above: `hostile`, which starts it as a process of its own. Below: asyncio. It listens on loopback,
on the port that it is given, and prints how many calls it got when it is stopped.
"""

import asyncio
import contextlib
import itertools
import os
import signal
import sys
from collections.abc import Awaitable, Callable

import uvloop

TRICKLE_SECONDS = 0.1
"""Between two bytes of a service that trickles."""

_JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
_CHUNKED = _JSON + b"Transfer-Encoding: chunked\r\n\r\n"
_FLOODS = {
    "flood_body": (_JSON + b"\r\n", b" " * 65_536),
    "flood_progress": (_EVENTS, b'event: progress\ndata: {"n":1}\n\n' * 2_000),
    "flood_comments": (_EVENTS, b":\n" * 30_000),
    "flood_headers": (b"HTTP/1.1 200 OK\r\n", b"X-More: and more\r\n" * 3_000),
    "flood_chunks": (_CHUNKED, b"1\r\n \r\n" * 10_000),
    "flood_informational": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2_000),
}
_WAITS = ("hang", "trickle")
PATHS = (*_WAITS, *_FLOODS)
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _hang(streams: _Streams) -> None:
    await streams[0].read()


async def _trickle(streams: _Streams) -> None:
    _, writer = streams
    writer.write(_EVENTS)
    for byte in itertools.cycle(b": still here\n\n"):
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(TRICKLE_SECONDS)


def _flood(head: bytes, more: bytes) -> Callable[[_Streams], Awaitable[None]]:
    async def flood(streams: _Streams) -> None:
        _, writer = streams
        writer.write(head)
        while True:
            writer.write(more)
            await writer.drain()
            await asyncio.sleep(0)

    return flood


_SERVE: dict[str, Callable[[_Streams], Awaitable[None]]] = {
    "hang": _hang,
    "trickle": _trickle,
    **{name: _flood(*flood) for name, flood in _FLOODS.items()},
}


async def _serve(port: int) -> None:
    # It stands for other machines: it must not take Brain's part of this one's processors.
    os.nice(19)
    calls = 0

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            request = await reader.readuntil(b"\r\n\r\n")
            name = request.split(b" ", 2)[1].rpartition(b"/")[2].decode()
            if name not in _SERVE:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                return
            calls += 1
            await _SERVE[name]((reader, writer))
        writer.transport.abort()

    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    async with await asyncio.start_server(accepted, "127.0.0.1", port):
        await stopped.wait()
        print(calls, flush=True)


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1])))
