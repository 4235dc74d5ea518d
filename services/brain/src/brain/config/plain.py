"""What JSON allows and nobody can pass on: numbers that no double holds, halves of characters.

Above: `check`, before any other rule looks at the document. Below: nothing.
"""

import math
import re
from collections.abc import Iterator

from brain.config.problem import Problem, as_list, as_object, pointer

_SURROGATE = re.compile("[\ud800-\udfff]")


def problems(document: object, *place: str | int) -> Iterator[Problem]:
    """All of them, each with its place; a name's place is that of its object."""
    if isinstance(document, float) and not math.isfinite(document):
        yield Problem(pointer(*place), "is a number that is out of range.")
    elif isinstance(document, str) and _SURROGATE.search(document):
        yield Problem(pointer(*place), "has an escaped surrogate without its pair.")
    else:
        yield from _within(document, place)


def _within(document: object, place: tuple[str | int, ...]) -> Iterator[Problem]:
    for index, value in enumerate(as_list(document)):
        yield from problems(value, *place, index)
    members = as_object(document) or {}
    if any(map(_SURROGATE.search, members)):
        yield Problem(pointer(*place), "has a name with an escaped surrogate without its pair.")
        return
    for name, value in members.items():
        yield from problems(value, *place, name)
