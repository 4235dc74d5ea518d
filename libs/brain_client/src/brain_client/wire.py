"""What both clients know of the wire. Above: `aio`, `sync`."""

import json
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import quote, urlsplit

from brain_client.errors import BrainError, BrainUnavailable, TurnFailed
from brain_client.types import Event, Message

Json = dict[str, Any]

DEFAULT_URL = "http://127.0.0.1:8080"
GONE = 404
TURN_ENDS = ("turn.completed", "turn.failed", "turn.interrupted")
FOLLOW_ATTEMPTS = 10
"""How often in a row a follower may fail before it gives up."""
COMPACTION_SECONDS = 600.0
"""A compaction is a model call that reads the whole context."""

_ROLES = {"message.user": "user", "message.assistant": "assistant"}
_FIRST_DELAY, _LONGEST_DELAY = 0.1, 5.0
_PASSING = (429, 502, 503, 504)
"""What a follower waits out: an engine that restarts, or a proxy that doesn't find the edge."""


def in_path(ident: str) -> str:
    """An id as a part of a path."""
    return quote(ident, safe="")


def passes(error: BrainUnavailable | BrainError) -> bool:
    """Whether a follower may wait this out."""
    return isinstance(error, BrainUnavailable) or error.status in _PASSING


def delay_after(failures: int) -> float:
    """How many seconds to wait before a follower connects again."""
    return min(_LONGEST_DELAY, _FIRST_DELAY * 2**failures)


def message_of(event: Event) -> Message | None:
    """What an event says, if it is a message."""
    role = _ROLES.get(event["type"])
    if role is None:
        return None
    data = event["data"]
    found = {"role": role, "seq": event.get("seq"), **data}
    return cast("Message", found)


def failure_of(event: Event) -> TurnFailed | None:
    """What an event of a turn's end says went wrong."""
    data = event["data"]
    if event["type"] == "turn.failed":
        return TurnFailed(data["error"]["code"], data["error"]["message"])
    if event["type"] == "turn.interrupted":
        return TurnFailed("interrupted", f"The turn was interrupted: {data['reason']}.")
    return None


def is_loopback(url: str) -> bool:
    """Whether a URL leads to this very machine."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def json_object(body: bytes) -> Json | None:
    """The JSON object in a body, None if there is none."""
    try:
        document: object = json.loads(body)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None  # pyright: ignore[reportUnknownVariableType]
