"""What a server tells its client beside answers: progress, and log lines. Above: `transport`.

Below: `messages`. It is read here, not by the SDK, since a server may say anything, any number of
times: one wrong number must not end a session, nor a flood take all of the engine's time.
"""

from math import isfinite
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct

from brain.engine.tool.mcp.messages import Message

PROGRESS = "notifications/progress"
LOG = "notifications/message"
_TEXT_CHARACTERS = 500
_LARGEST_INTEGER = 2.0**53
_T = TypeVar("_T")


class Progress(Struct, frozen=True):
    """How far the request with this token has come. Tokens of ours are text."""

    token: str = msgspec.field(name="progressToken")
    progress: float
    total: float | None = None
    message: str | None = None

    def payload(self) -> Raw:
        """What becomes of it: the JSON of what was said, whole numbers without a point."""
        values = {
            "progress": _short(self.progress),
            "total": _short(self.total),
            "message": self.message,
        }
        said = {name: value for name, value in values.items() if value is not None}
        return Raw(msgspec.json.encode(said))


class LogLine(Struct, frozen=True):
    """A line for the log; `data` is any JSON."""

    data: Raw
    level: str = "info"
    logger: str | None = None

    @property
    def text(self) -> str:
        """Its beginning."""
        data = bytes(self.data)
        if data.startswith(b'"'):
            return msgspec.json.decode(data, type=str)[:_TEXT_CHARACTERS]
        return data[:_TEXT_CHARACTERS].decode(errors="replace")


def progress_of(message: Message) -> Progress | None:
    """The progress that a notification tells of, if it does."""
    found = _read(message, Progress)
    if found is None or not all(map(isfinite, (found.progress, found.total or 0.0))):
        return None
    return found


def log_line_of(message: Message) -> LogLine | None:
    """The line that a notification holds, if it does."""
    return _read(message, LogLine)


def _read(message: Message, kind: type[_T]) -> _T | None:
    if not isinstance(message.params, Raw):
        return None
    try:
        return msgspec.json.decode(message.params, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, OverflowError):
        return None


def _short(number: float | None) -> float | None:
    if number is None or not number.is_integer() or abs(number) > _LARGEST_INTEGER:
        return number
    return int(number)
