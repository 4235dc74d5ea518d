"""One thing that is wrong with a host config. Above: everything in `config`."""

from collections.abc import Iterable
from typing import Any, NamedTuple, cast


class Problem(NamedTuple):
    """Where (a JSON pointer into the file, empty for the file as a whole), and what is wrong."""

    pointer: str
    message: str

    def __str__(self) -> str:
        return f"{self.pointer}: {self.message}" if self.pointer else self.message


def pointer(*parts: str | int) -> str:
    """A JSON pointer (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def listed(words: Iterable[str]) -> str:
    """Words for a sentence: `a`, `a or b`, `a, b or c`."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def as_object(value: object) -> dict[str, Any] | None:
    """The value, if it is a JSON object."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def as_list(value: object) -> list[Any]:
    """The value, if it is a JSON array, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []
