"""Reading events as a test does: which types, which one, what was said. Pure but for one wait.

Above: tests. Below: `api`.
"""

from collections.abc import AsyncIterator, Iterable
from itertools import groupby
from typing import Any

from brain_testing.api import Frame

Json = dict[str, Any]


def types(events: Iterable[Json]) -> list[str]:
    """The events' types, in order."""
    return [event["type"] for event in events]


def shape(frames: Iterable[Frame]) -> list[str]:
    """The frames' types in order, a run of equal live-only ones as one with a `*`."""
    kinds = ((frame.event, frame.id is None) for frame in frames)
    folded: list[str] = []
    for (name, live), run in groupby(kinds):
        folded += [f"{name}*"] if live else [name for _ in run]
    return folded


def of_type(events: Iterable[Json], kind: str) -> list[Json]:
    """The `data` of all events of one type."""
    return [event["data"] for event in events if event["type"] == kind]


def only(events: Iterable[Json], kind: str) -> Json:
    """The `data` of the one event of a type; there must be exactly one."""
    found = of_type(events, kind)
    assert len(found) == 1, f"{len(found)} events of type {kind}"
    return found[0]


def text_of(data: Json) -> str:
    """The text of a message or a result."""
    return "".join(block["text"] for block in data["content"] if block["type"] == "text")


def said(events: Iterable[Json]) -> str:
    """The text of the last answer of the model."""
    return text_of(of_type(events, "message.assistant")[-1])


async def read_until(frames: AsyncIterator[Frame], kind: str, times: int = 1) -> list[Frame]:
    """Read on until the event of a type has come so many times; that one is the last."""
    read: list[Frame] = []
    async for frame in frames:
        read.append(frame)
        times -= frame.event == kind
        if times == 0:
            return read
    raise AssertionError(f"the stream ended without {kind}: {[frame.event for frame in read]}")
