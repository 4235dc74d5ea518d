"""The data of server-sent events, whatever way the bytes are cut. Above: `http_stream`.

All three wire formats say in the data what an event is, so its name is not kept. Lenient where
servers are sloppy: an event whose empty line never came is still given.
"""

import msgspec

_BOM = b"\xef\xbb\xbf"
_FIELDS = (b"data", b"event", b"id", b"retry", b"")


class TooLong(Exception):
    """An event, or what stands between two of them, is larger than anyone would send."""


class EventDecoder:
    """Give it chunks with `feed`. It holds no more than the event that isn't complete yet."""

    def __init__(self, max_event_bytes: int) -> None:
        self._max = max_event_bytes
        self._held = 0
        self._pieces: list[bytes] = []
        self._last = b""
        self._at_start = True
        self._after_cr = False
        self._strange = False
        self._some = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of each event that this chunk completes. Raises: TooLong."""
        self._held += len(chunk)
        if self._held > self._max:
            raise TooLong
        if self._after_cr or b"\r" in chunk:
            chunk = self._without_cr(chunk)
        # Joined only once an event ends, so that small chunks cost no more than large ones.
        ends = b"\n\n" in chunk or (self._last == b"\n" and chunk[:1] == b"\n")
        self._pieces.append(chunk)
        self._last = chunk[-1:] or self._last
        return self._events() if ends else []

    def end(self) -> list[bytes]:
        """The data of an event whose empty line never came, if it seems to be whole."""
        self._pieces.append(b"\n\n")
        return [data for data in self._events() if _is_whole(data)]

    @property
    def nothing_but_strange(self) -> bool:
        """Whether there was no event, but something that isn't part of any."""
        return self._strange and not self._some

    def _without_cr(self, chunk: bytes) -> bytes:
        """The chunk with LF at the end of each line, where CR or CRLF may have been."""
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        self._after_cr = self._after_cr or chunk[-1:] == b"\r"
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _events(self) -> list[bytes]:
        text = b"".join(self._pieces)
        if self._at_start:
            self._at_start = False
            text = text.removeprefix(_BOM)
        *blocks, rest = text.split(b"\n\n")
        self._pieces = [rest]
        events = [data for block in blocks if (data := self._data(block)) is not None]
        if events:
            self._some = True
            self._held = len(rest)
        return events

    def _data(self, block: bytes) -> bytes | None:
        """The data in an event's lines, if there is any."""
        if block.startswith(b"data: ") and b"\n" not in block:
            return block[6:]
        found: list[bytes] = []
        for line in block.split(b"\n"):
            name, _, value = line.partition(b":")
            if name == b"data":
                found.append(value.removeprefix(b" "))
            elif name not in _FIELDS:
                self._strange = True
        return b"\n".join(found) if found else None


def _is_whole(data: bytes) -> bool:
    try:
        msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        return data.strip() == b"[DONE]"
    return True
