"""Content negotiation: does the client want a page of events or a stream?

Above: the events route. Below: nothing.
"""

import re
from typing import NamedTuple

_Q = re.compile(r"(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)", re.ASCII)
_EVENT_STREAM = ("text", "event-stream")
_JSON = ("application", "json")


class _Preference(NamedTuple):
    """How much a type is wanted; of two equal ones, the one that is named more exactly wins."""

    q: float
    exactness: int


def wants_event_stream(accept: str) -> bool:
    """Whether `accept`, a whole Accept header, prefers `text/event-stream` to JSON.

    On a tie it is JSON, and so it is if neither is wanted.
    """
    ranges = [parsed for part in accept.split(",") if (parsed := _parse(part)) is not None]
    stream = _preference(ranges, _EVENT_STREAM)
    return stream.q > 0 and stream > _preference(ranges, _JSON)


def _parse(part: str) -> tuple[str, str, float] | None:
    media, *parameters = (piece.strip().lower() for piece in part.split(";"))
    kind, slash, subtype = media.partition("/")
    if not slash:
        return None
    q = next((item[2:] for item in parameters if item.startswith("q=")), "1")
    return (kind, subtype, float(q)) if _Q.fullmatch(q) else None


def _preference(ranges: list[tuple[str, str, float]], wanted: tuple[str, str]) -> _Preference:
    """What the most exact range that covers `wanted` says of it."""
    best = _Preference(0.0, -1)
    for kind, subtype, q in ranges:
        exactness = _exactness((kind, subtype), wanted)
        if exactness > best.exactness:
            best = _Preference(q, exactness)
    return best


def _exactness(given: tuple[str, str], wanted: tuple[str, str]) -> int:
    if given == wanted:
        return 2
    if given == (wanted[0], "*"):
        return 1
    return 0 if given == ("*", "*") else -1
