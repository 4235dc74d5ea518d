"""Standard input, line by line, while an event loop runs. Above: `conversation`."""

import asyncio
import contextlib
import os
import select
import sys
import threading
from collections.abc import Iterator

_STDIN = 0
_PIECE = 65_536
_PASTE_SECONDS = 0.02
"""Nobody types the next line as soon as this: what comes then was pasted."""


class Lines:
    """Lines as they are typed or piped in; None once there are no more, or it was told to end.

    Lines that are pasted into a terminal at once come as one text.
    """

    def __init__(self) -> None:
        self.interactive = sys.stdin is not None and sys.stdin.isatty()
        self._queue: asyncio.Queue[str | None] = asyncio.Queue()
        self._over = False
        self._loop = asyncio.get_running_loop()
        # A thread that waits for input can't be told to stop: a daemon needn't be.
        threading.Thread(target=self._read, daemon=True).start()

    async def next(self) -> str | None:
        """The next line, or pasted lines, without the end."""
        line = None if self._over else await self._queue.get()
        return None if self._over else line

    def end(self) -> None:
        """Let there be no more lines, also none that were read ahead."""
        self._over = True
        self._queue.put_nowait(None)

    def _read(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is over, and with it the chat
            for line in _pasted() if self.interactive else _lines():
                self._loop.call_soon_threadsafe(self._queue.put_nowait, line)
            self._loop.call_soon_threadsafe(self._queue.put_nowait, None)


def _pasted() -> Iterator[str]:
    """Lines of a terminal, which gives one at a time."""
    held: list[str] = []
    for line in _lines():
        held.append(line)
        if not select.select([_STDIN], [], [], _PASTE_SECONDS)[0]:
            yield "\n".join(held)
            held.clear()
    if held:  # the end was pasted, too
        yield "\n".join(held)


def _lines() -> Iterator[str]:
    """Read without Python's buffers, whose locks a thread must not hold when the process ends."""
    rest = b""
    while piece := _piece():
        *lines, rest = (rest + piece).split(b"\n")
        yield from map(_text, lines)
    if rest:
        yield _text(rest)


def _piece() -> bytes:
    try:
        return b"" if sys.stdin is None else os.read(_STDIN, _PIECE)
    except OSError:  # the terminal is gone
        return b""


def _text(line: bytes) -> str:
    return line.decode(errors="replace").rstrip("\r")
