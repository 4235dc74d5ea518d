"""A lean HTTP/1.1 client, so that measuring costs little.

It speaks what Brain and uvicorn speak, over one kept-alive connection, and nothing else.
Above: everything that measures. Below: asyncio.
"""

import asyncio
from typing import NamedTuple, Self


class Answer(NamedTuple):
    """A status and a whole body."""

    status: int
    body: bytes


class HttpError(Exception):
    """The server answered otherwise than the bench needs."""


class Connection:
    """One kept-alive connection; one request at a time."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, headers: str
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._headers = headers

    @classmethod
    async def open(cls, port: int, key: str = "") -> Self:
        """Connect to this port on loopback, with a bearer token if `key` is given."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        authorization = f"Authorization: Bearer {key}\r\n" if key else ""
        return cls(reader, writer, f"Host: 127.0.0.1:{port}\r\n{authorization}")

    async def post(self, path: str, body: bytes) -> Answer:
        """POST a JSON body and read the whole answer."""
        self.send_post(path, body)
        return await self.answer()

    async def get(self, path: str) -> Answer:
        """GET and read the whole answer."""
        self._writer.write(f"GET {path} HTTP/1.1\r\n{self._headers}\r\n".encode())
        return await self.answer()

    def send_post(self, path: str, body: bytes) -> None:
        """Send a POST; `answer` reads what comes back."""
        head = (
            f"POST {path} HTTP/1.1\r\n{self._headers}"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)

    async def answer(self) -> Answer:
        """The answer to what was sent."""
        status, headers = await self._head()
        length = headers.get("content-length")
        if length is None:
            raise HttpError(f"an answer {status} without a length")
        return Answer(status, await self._reader.readexactly(int(length)))

    async def follow(self, path: str) -> "EventStream":
        """GET an event stream; the connection then belongs to it."""
        accept = "Accept: text/event-stream\r\n"
        self._writer.write(f"GET {path} HTTP/1.1\r\n{self._headers}{accept}\r\n".encode())
        status, _ = await self._head()
        if status != 200:
            raise HttpError(f"the event stream answered {status}")
        return EventStream(self._reader, self._writer)

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()

    async def _head(self) -> tuple[int, dict[str, str]]:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        status_line, *lines = head.split("\r\n")
        pairs = (line.partition(":") for line in lines if line)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        return int(status_line.split(" ", 2)[1]), headers


class Event(NamedTuple):
    """One server-sent event; a name, and the lines as they came."""

    name: str
    block: bytes


class EventStream:
    """Server-sent events in chunked encoding."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._events: list[Event] = []
        self._rest = b""

    async def next(self) -> Event:
        """The next event; comments are passed over."""
        while not self._events:
            blocks = (self._rest + await self._chunk()).split(b"\n\n")
            self._rest = blocks.pop()
            named = (Event(_event_name(block), block) for block in reversed(blocks))
            self._events = [event for event in named if event.name]
        return self._events.pop()

    def close(self) -> None:
        """Leave the stream."""
        self._writer.close()

    async def _chunk(self) -> bytes:
        size = int(await self._reader.readuntil(b"\r\n"), 16)
        if size == 0:
            raise HttpError("the event stream ended")
        return (await self._reader.readexactly(size + 2))[:-2]


def _event_name(block: bytes) -> str:
    for line in block.split(b"\n"):
        if line.startswith(b"event: "):
            return line[7:].decode()
    return ""
