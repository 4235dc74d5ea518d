"""What a client of one session asked for, and what it was told. Above: `sessions`, `check`."""

from typing import Any

from msgspec import Struct, field

Json = dict[str, Any]


class Told(Struct):
    """Messages are known by the name of their plan, sessions by that of their client's count.

    `differing` are pairs of answers to one key that were not the same; `unanswered` requests never
    got a clear answer; `strange` are answers that nothing explains.
    """

    name: str
    session_id: str = ""
    accepted: dict[str, Json] = field(default_factory=dict[str, Json])
    refused: set[str] = field(default_factory=set[str])
    withdrawn: set[str] = field(default_factory=set[str])
    interrupted: set[str] = field(default_factory=set[str])
    compacted: list[Json] = field(default_factory=list[Json])
    closed: bool = False
    views: list[list[Json]] = field(default_factory=list[list[Json]])
    repeats: int = 0
    differing: list[tuple[Json, Json]] = field(default_factory=list[tuple[Json, Json]])
    unanswered: list[str] = field(default_factory=list[str])
    strange: list[str] = field(default_factory=list[str])


def plan_of(event: Json) -> str:
    """The name of the plan in a `message.user` event."""
    content = event["data"]["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    return text.split('"')[3]
