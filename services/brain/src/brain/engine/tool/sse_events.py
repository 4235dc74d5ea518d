"""Server-sent events: bytes in, events out, whatever way the bytes are cut.

Above: `sse_reply`. Below: nothing. As WHATWG's standard has it, but in bytes: what is not UTF-8 is
found where the data is read as JSON.
"""

from collections.abc import Iterator

from msgspec import Struct

_BOM = b"\xef\xbb\xbf"


class ServerSentEvent(Struct, frozen=True):
    """One event. `name` is empty if the service gave it none; `id` and `retry` are as sent."""

    name: bytes
    data: bytes
    id: bytes | None = None
    retry: bytes | None = None


class EventParser:
    """Give it chunks with `feed`; it holds no more than the event that is not complete yet."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._at_start = True
        self._after_cr = False
        self._name = b""
        self._data: list[bytes] = []
        self._id: bytes | None = None
        self._retry: bytes | None = None

    def feed(self, chunk: bytes) -> Iterator[ServerSentEvent]:
        """The events that this chunk completes. Stop iterating and the rest is not parsed."""
        for line in self._lines(chunk):
            event = self._take(line)
            if event is not None:
                yield event

    def _lines(self, chunk: bytes) -> Iterator[bytes]:
        if self._after_cr and chunk:
            # The CR was taken for a line's end; a LF right after it belongs to it.
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if b"\n" not in chunk and b"\r" not in chunk:
            self._line += chunk
            return
        lines = (bytes(self._line) + chunk).splitlines(keepends=True)
        self._line.clear()
        if not lines[-1].endswith((b"\n", b"\r")):
            self._line += lines.pop()
        self._after_cr = chunk.endswith(b"\r")
        for line in lines:
            yield self._without_bom(line.rstrip(b"\r\n"))

    def _without_bom(self, line: bytes) -> bytes:
        if self._at_start:
            self._at_start = False
            return line.removeprefix(_BOM)
        return line

    def _take(self, line: bytes) -> ServerSentEvent | None:
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value
        elif field == b"id":
            self._id = value
        elif field == b"retry":
            self._retry = value
        return None

    def _dispatch(self) -> ServerSentEvent | None:
        name, data, ident, retry = self._name, self._data, self._id, self._retry
        self._name, self._data, self._id, self._retry = b"", [], None, None
        return ServerSentEvent(name, b"\n".join(data), ident, retry) if data else None
