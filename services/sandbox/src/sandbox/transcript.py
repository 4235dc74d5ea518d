"""What a command writes: streamed in small pieces while it runs, its head and tail kept.

Above: `tools.run`. Below: `tool_service`. Both are bounded, so a flood of output costs time only.
"""

import asyncio
import codecs
from collections.abc import Awaitable, Callable

from sandbox.provider import Stream

HEAD_BYTES = 16 * 1024
TAIL_BYTES = 16 * 1024
_STREAMED_BYTES = 256 * 1024
_PIECE_BYTES = 4 * 1024
_GATHER_SECONDS = 0.05

Progress = Callable[[dict[str, str]], Awaitable[None]]


class Kept:
    """The beginning and the end of a stream."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0

    def add(self, piece: bytes) -> None:
        self._size += len(piece)
        room = HEAD_BYTES - len(self._head)
        self._head += piece[:room]
        self._tail += piece[room:] if room < len(piece) else b""
        if len(self._tail) > 2 * TAIL_BYTES:
            del self._tail[:-TAIL_BYTES]

    @property
    def cut(self) -> int:
        """How many bytes were left out."""
        return max(0, self._size - HEAD_BYTES - TAIL_BYTES)

    def text(self) -> str:
        """As text, with a line in the place of what was left out."""
        if not self.cut:
            return readable(bytes(self._head + self._tail))
        left_out = f"\n[... {self.cut} bytes left out ...]\n"
        return readable(bytes(self._head)) + left_out + readable(bytes(self._tail[-TAIL_BYTES:]))


class Transcript:
    """Takes a command's output as it comes.

    `word` begins what a script says that refuses: that isn't the command's, and isn't streamed.
    """

    def __init__(self, progress: Progress, word: str) -> None:
        self.kept: dict[Stream, Kept] = {"stdout": Kept(), "stderr": Kept()}
        self.refused = ""
        self._word = word.encode()
        self._pieces = _Pieces(progress)

    async def output(self, stream: Stream, piece: bytes) -> None:
        """An `Output` for a provider."""
        if stream == "stderr" and piece.startswith(self._word):
            self.refused = piece.decode(errors="replace")
            return
        self.kept[stream].add(piece)
        await self._pieces.add(stream, piece)

    async def close(self) -> None:
        """Stream what is left."""
        await self._pieces.close()

    @property
    def truncated(self) -> bool:
        return any(kept.cut for kept in self.kept.values())


class _Pieces:
    """Gathers output for a moment, then sends it on."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._waiting: list[tuple[Stream, bytes]] = []
        self._gathered = 0
        self._room = _STREAMED_BYTES
        self._later: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = {each: decoder(errors="replace") for each in ("stdout", "stderr")}

    async def add(self, stream: Stream, piece: bytes) -> None:
        if self._room <= 0:
            return
        piece = piece[: self._room]
        self._room -= len(piece)
        self._waiting.append((stream, piece))
        self._gathered += len(piece)
        if self._gathered >= _PIECE_BYTES or self._room <= 0:
            await self._send()
        elif self._later is None:
            self._later = asyncio.create_task(self._send_later())

    async def close(self) -> None:
        if self._later is not None:
            self._later.cancel()
            await asyncio.wait({self._later})
        await self._send()

    async def _send_later(self) -> None:
        await asyncio.sleep(_GATHER_SECONDS)
        self._later = None
        await self._send()

    async def _send(self) -> None:
        async with self._turn:
            waiting, self._waiting, self._gathered = self._waiting, [], 0
            for stream, piece in _joined(waiting):
                for start in range(0, len(piece), _PIECE_BYTES):
                    await self._send_piece(stream, piece[start : start + _PIECE_BYTES])
            if waiting and self._room <= 0:
                await self._progress({"status": "more output, which isn't streamed"})

    async def _send_piece(self, stream: Stream, piece: bytes) -> None:
        text = self._decoders[stream].decode(piece)
        if text:
            await self._progress({"stream": stream, "text": text})


def readable(data: bytes) -> str:
    """Text of bytes of any kind."""
    return data.decode(errors="replace")


def _joined(pieces: list[tuple[Stream, bytes]]) -> list[tuple[Stream, bytes]]:
    """Neighbours of the same stream made one."""
    joined: list[tuple[Stream, bytearray]] = []
    for stream, piece in pieces:
        if joined and joined[-1][0] == stream:
            joined[-1][1].extend(piece)
        else:
            joined.append((stream, bytearray(piece)))
    return [(stream, bytes(piece)) for stream, piece in joined]
