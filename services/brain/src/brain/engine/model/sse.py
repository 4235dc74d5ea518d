"""The data of server-sent events, whatever way the bytes are cut. Above: `http_stream`.

All three wire formats say in the data what an event is, so its name is not kept. Lenient where
servers are sloppy: an event that the stream's end cut off is still given.
"""

import msgspec

_BOM = b"\xef\xbb\xbf"
_FIELDS = (b"data", b"event", b"id", b"retry", b"")


class TooLong(Exception):
    """An event is larger than anyone would send."""


class EventDecoder:
    """Give it chunks with `feed`. It holds no more than the event that isn't complete yet."""

    def __init__(self, max_event_bytes: int) -> None:
        self._strange = False
        self._some = False
        self._max = max_event_bytes
        self._at_start = True
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._held = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of each event that this chunk completes. Raises: TooLong."""
        self._held += len(chunk)
        if self._held > self._max:
            raise TooLong
        if b"\n" not in chunk and b"\r" not in chunk:
            self._line.append(chunk)
            return []
        return self._take(self._lines(b"".join([*self._line, chunk])))

    def end(self) -> list[bytes]:
        """The data of an event whose empty line never came, if it seems to be whole."""
        rest = b"".join(self._line).rstrip(b"\r")
        self._line = []
        return [data for data in self._take([rest, b""]) if _is_whole(data)]

    @property
    def nothing_but_strange(self) -> bool:
        """Whether there was no event, but something that isn't part of any."""
        return self._strange and not self._some

    def _lines(self, text: bytes) -> list[bytes]:
        if self._at_start:
            self._at_start = False
            text = text.removeprefix(_BOM)
        # A CR at the end may be half of a CRLF.
        half = text[-1:] == b"\r"
        body = text[:-1] if half else text
        lines = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        rest = lines.pop()
        self._line = [rest + b"\r"] if half else [rest]
        return lines

    def _take(self, lines: list[bytes]) -> list[bytes]:
        events: list[bytes] = []
        for line in lines:
            if line:
                self._field(line)
            elif self._data:
                events.append(b"\n".join(self._data))
                self._data = []
        self._held = sum(map(len, self._line)) + sum(map(len, self._data))
        self._some = self._some or bool(events)
        return events

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        elif name not in _FIELDS:
            self._strange = True


def _is_whole(data: bytes) -> bool:
    try:
        msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        return data.strip() == b"[DONE]"
    return True
