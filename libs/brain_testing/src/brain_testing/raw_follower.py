"""A reader of a session's stream on a bare socket: it may take its time, and costs next to nothing.

Above: tests with many readers, or with slow ones. Below: a socket with a small buffer.
"""

import asyncio
import socket
from types import TracebackType
from typing import Self

from brain_testing.running import RunningBrain

_PATIENCE_SECONDS = 60.0
_SMALL = 4096


class RawFollower:
    """It has asked for the stream, and reads when it is told to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, brain: RunningBrain, session_id: str, query: str = "") -> Self:
        """Connect and ask, for the first tenant."""
        host, _, port = brain.url.removeprefix("http://").partition(":")
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL)
        client.setblocking(False)
        await asyncio.get_running_loop().sock_connect(client, (host, int(port)))
        reader, writer = await asyncio.open_connection(sock=client, limit=_SMALL)
        writer.write(
            f"GET /sessions/{session_id}/events{query} HTTP/1.1\r\nHost: brain\r\n"
            "Connection: close\r\nAccept: text/event-stream\r\n"
            f"Authorization: Bearer {brain.key}\r\n\r\n".encode()
        )
        return cls(reader, writer)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._writer.transport.abort()

    async def joined(self) -> None:
        """Wait for the answer's first event, `session.state`."""
        async with asyncio.timeout(_PATIENCE_SECONDS):
            await self._reader.readuntil(b"event: session.state")

    async def rest(self) -> list[tuple[int, bytes]]:
        """Every durable event until the stream ends: its number, and its data as it came."""
        async with asyncio.timeout(_PATIENCE_SECONDS):
            received = await self._reader.read()
        found: list[tuple[int, bytes]] = []
        for frame in received.split(b"\n\n"):
            fields = {name: value for name, _, value in map(_parted, frame.split(b"\n"))}
            if b"id" in fields:
                found.append((int(fields[b"id"]), fields[b"data"]))
        return found


def _parted(line: bytes) -> tuple[bytes, bytes, bytes]:
    return line.partition(b": ")
