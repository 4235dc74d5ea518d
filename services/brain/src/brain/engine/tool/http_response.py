"""One HTTP/1.1 response, read a piece at a time. Above: `http_call`. Below: `wire`, httptools.

What is counted is what the peer really sends: whatever is not body (headers, informational
responses, chunk sizes, trailers) is limited too, so nothing that it does can go on for ever.
"""

import httptools
from httptools import HttpParserError, HttpParserUpgrade

from brain.engine.tool.pace import Pace
from brain.engine.tool.wire import Wire

_PIECE = 1024
_OVERHEAD_FACTOR = 16
"""Bytes of framing for each byte of body; a byte in a chunk of its own has five."""


class NotHttp(Exception):
    """The peer sent what is not HTTP, or far too much of it. Its text is fit for a model."""


class HttpResponse:
    """A response in the making. Informational responses before it are passed over.

    Once it is complete, `reusable` says whether its connection can carry another request.
    """

    def __init__(self, wire: Wire, pace: Pace, max_overhead_bytes: int) -> None:
        self.status = 0
        self.complete = False
        self.reusable = False
        self._wire = wire
        self._pace = pace
        self._max_overhead_bytes = max_overhead_bytes
        self._parser = httptools.HttpResponseParser(self)
        self._headers: list[tuple[str, str]] = []
        self._begun = False
        self._body: list[bytes] = []
        self._raw_bytes = 0
        self._body_bytes = 0
        self._busy = False

    async def read_head(self) -> None:
        """Read up to the end of the headers. Raises `NotHttp`, `OSError`."""
        while not self._begun:
            await self._read_piece()

    async def read_body(self) -> bytes:
        """Some more of the body, or nothing at its end. Raises `NotHttp`, `OSError`."""
        while not self._body and not self.complete:
            await self._read_piece()
        body = b"".join(self._body)
        self._body.clear()
        return body

    def all(self, name: str) -> list[str]:
        """Every value of a header; `name` is in lower case."""
        return [value for key, value in self._headers if key == name]

    async def _read_piece(self) -> None:
        if self._busy:
            await self._pace.turn()
        piece = await self._wire.read(_PIECE)
        self._busy = len(piece) == _PIECE
        if not piece:
            self._end()
            return
        self._raw_bytes += len(piece)
        self._parse(piece)
        overhead = self._raw_bytes - self._body_bytes * (1 + _OVERHEAD_FACTOR)
        if overhead > self._max_overhead_bytes and not self.complete:
            raise NotHttp("Its headers are too large.")

    def _parse(self, piece: bytes) -> None:
        try:
            self._parser.feed_data(piece)
        except HttpParserUpgrade:
            pass  # no such thing was asked for: the status says so
        except HttpParserError as error:
            # What follows a complete response means nothing.
            if not self.complete:
                raise NotHttp from error

    def _end(self) -> None:
        """The connection has ended: so has a body whose end is marked by nothing else."""
        marked = self.all("content-length") or self.all("transfer-encoding")
        if not self._begun or marked:
            raise ConnectionError
        self.complete = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser, also for trailers, which mean nothing here."""
        if not self._begun:
            self._headers.append((name.decode("latin-1").lower(), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        """Called by the parser."""
        if self._begun:
            return
        status = self._parser.get_status_code()
        if 100 <= status < 200 and status != 101:
            self._headers.clear()
            return
        self.status = status
        self._begun = True

    def on_body(self, body: bytes) -> None:
        """Called by the parser."""
        if not self.complete:
            self._body.append(body)
            self._body_bytes += len(body)

    def on_message_complete(self) -> None:
        """Called by the parser, also for informational responses."""
        if self._begun and not self.complete:
            self.complete = True
            self.reusable = self._parser.should_keep_alive()
