"""Images for a message, read from files. Above: `conversation`. Below: nothing.

What a file is, its first bytes say, whatever its name is.
"""

import base64
import shlex
import stat
from pathlib import Path
from typing import NamedTuple

_BODY_BYTES = 4 * 1024 * 1024
_BESIDE_IMAGES = 64 * 1024
MOST_BYTES = (_BODY_BYTES - _BESIDE_IMAGES) * 3 // 4
"""What a message's images may have in all: base64 makes four bytes of three, and Brain takes a
request of 4 MiB."""

_STARTS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


class Image(NamedTuple):
    """An image as it was read."""

    name: str
    mime_type: str
    content: bytes

    def block(self) -> dict[str, str]:
        """The content block."""
        data = base64.b64encode(self.content).decode("ascii")
        return {"type": "image", "data": data, "mime_type": self.mime_type}


class NoImage(Exception):
    """It can't be attached; the message is one clear sentence."""


def read_image(given: str, room: int = MOST_BYTES) -> Image:
    """The image at a path, as it was typed or dropped onto the terminal.

    `room` is how many bytes there may be. Raises: NoImage.
    """
    if not given:
        raise NoImage("name a file: /image PATH")
    path = _path(given)
    try:
        content = _content(path, room)
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise NoImage(f"{path} can't be read: {why}.") from error
    kind = _kind(content)
    if kind is None:
        raise NoImage(f"{path} is no image that models read: it must be PNG, JPEG, GIF or WebP.")
    return Image(path.name, kind, content)


def _path(given: str) -> Path:
    """Terminals quote the names of files that are dropped onto them."""
    path = Path(given)
    try:
        words = shlex.split(given)
        if len(words) == 1 and not path.exists():
            path = Path(words[0])
        return path.expanduser()
    except (OSError, ValueError, RuntimeError):
        return path


def _content(path: Path, room: int) -> bytes:
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise NoImage(f"{path} is not a file.")
    if found.st_size > room:
        raise NoImage(
            f"{path} is too big: it has {_megabytes(found.st_size)}, and the images of a message "
            f"may have {_megabytes(MOST_BYTES)} in all. Make it smaller."
        )
    return path.read_bytes()


def _kind(content: bytes) -> str | None:
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _STARTS if content.startswith(start)), None)


def _megabytes(count: int) -> str:
    return f"{count / 1_000_000:.1f} MB"
