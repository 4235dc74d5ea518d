"""Server-sent events out of bytes, in whatever pieces they come. Above: `aio`."""

from collections.abc import Iterator
from typing import NamedTuple


class ServerEvent(NamedTuple):
    """One event; `id` is None if it carried none."""

    id: str | None
    name: str
    data: str


class SseDecoder:
    """Takes pieces of a stream, gives the events that they complete."""

    def __init__(self) -> None:
        self._rest = b""
        self._id: str | None = None
        self._name = "message"
        self._data: list[str] = []

    def feed(self, piece: bytes) -> Iterator[ServerEvent]:
        """The events that end in this piece. Brain ends its lines with LF."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            event = self._line(line.removesuffix(b"\r").decode())
            if event is not None:
                yield event

    def _line(self, line: str) -> ServerEvent | None:
        if not line:
            return self._end()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "id":
            self._id = value
        elif name == "event":
            self._name = value
        elif name == "data":
            self._data.append(value)
        return None

    def _end(self) -> ServerEvent | None:
        event = ServerEvent(self._id, self._name, "\n".join(self._data)) if self._data else None
        self._id, self._name, self._data = None, "message", []
        return event
