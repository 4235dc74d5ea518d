"""What the three validators share: the formats' names, and shapes that take no unknown field."""

from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

Json = dict[str, Any]
Dialect = Literal["openai-chat", "openai-responses", "anthropic-messages"]
DIALECTS: tuple[Dialect, ...] = ("openai-chat", "openai-responses", "anthropic-messages")

_T = TypeVar("_T")


class Strict(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a request. A field that isn't listed makes the request a bad one."""


class NotAsItShouldBe(Exception):
    """A request, or a part of it, hasn't the shape that the format demands."""


def shaped(value: object, kind: type[_T], where: str = "") -> _T:
    """The value in its shape. Raises: NotAsItShouldBe, which says where it isn't."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise NotAsItShouldBe(f"{where}: {error}" if where else str(error)) from error


def doubled(names: Iterable[str]) -> Iterator[str]:
    """Each name that comes a second time."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield name
        seen.add(name)
