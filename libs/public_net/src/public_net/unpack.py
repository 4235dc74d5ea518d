"""Undoes `Content-Encoding` with a bound, so that a small body can't become a huge one in memory.

Above: whoever reads bodies. Below: zlib. Only gzip and deflate, since a request that offers no
others gets no others from an honest server.
"""

import zlib

OFFERED = "gzip, deflate"
"""What to send as Accept-Encoding."""

_MOST_MEMBERS = 100


class BadPacking(Exception):
    """The body isn't packed as it says, or in a way that isn't read; the text says which."""


class Unpacker:
    """Unpacks a body piece by piece, at most `limit` bytes of it in all.

    `packed` and `unpacked` count bytes; `overflowed` says that there is more than the limit, packed
    or unpacked. Raises: BadPacking, for an encoding that it doesn't know.
    """

    def __init__(self, encoding: str, limit: int) -> None:
        self.packed = 0
        self.unpacked = 0
        self.overflowed = False
        self._limit = limit
        self._encoding = encoding.strip().lower()
        self._members = 0
        self._head = b""
        self._undecided = self._encoding == "deflate"
        self._inflate = _inflater(self._encoding)

    def feed(self, data: bytes) -> bytes:
        """What these bytes unpack to, as far as the limit goes. Raises: BadPacking."""
        self.packed += len(data)
        if self._undecided:
            data = self._head + data
            if len(data) < 2:
                self._head = data
                return b""
            self._decide(data)
        try:
            pieces = self._pieces(data)
        except zlib.error as error:
            raise BadPacking(f"the server's answer isn't {self._encoding}, as it says") from error
        self.overflowed |= self.packed > self._limit
        return b"".join(pieces)

    def _decide(self, data: bytes) -> None:
        """Some servers say deflate and leave out the header that belongs to it."""
        self._undecided = False
        if data[0] & 0x0F != zlib.DEFLATED or int.from_bytes(data[:2]) % 31:
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)

    def _pieces(self, data: bytes) -> list[bytes]:
        pieces: list[bytes] = []
        while data and not self.overflowed:
            # One byte more than the limit leaves says that there is more.
            piece, data = self._step(data, self._limit - self.unpacked + 1)
            self.overflowed |= self.unpacked + len(piece) > self._limit
            pieces.append(piece[: self._limit - self.unpacked])
            self.unpacked += len(pieces[-1])
        return pieces

    def _step(self, data: bytes, most: int) -> tuple[bytes, bytes]:
        """A piece, and what is left of the packed bytes."""
        if self._inflate is None:
            return data[:most], data[most:]
        if self._inflate.eof:
            self._next_member()
        piece = self._inflate.decompress(data, most)
        return piece, self._inflate.unconsumed_tail or self._inflate.unused_data

    def _next_member(self) -> None:
        """A gzip file may follow another; so many that they cost time are an attack."""
        self._members += 1
        if self._members > _MOST_MEMBERS:
            raise BadPacking("the server's answer is packed in too many pieces")
        self._inflate = _inflater(self._encoding)


def _inflater(encoding: str) -> "zlib._Decompress | None":  # pyright: ignore[reportPrivateUsage]
    if encoding in ("", "identity"):
        return None
    if encoding in ("gzip", "x-gzip"):
        return zlib.decompressobj(zlib.MAX_WBITS | 16)
    if encoding == "deflate":
        return zlib.decompressobj()
    raise BadPacking(f"the server packed it as {encoding[:40]!r}, which wasn't asked for")
