"""The shapes of what goes in and comes out: plain dicts, described for editors and type checkers.

Above: `aio`, `sync`, applications. Source: the HTTP API's reference. Brain may add fields, so
a reader must not mind those that it doesn't know.
"""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

Status = Literal["idle", "running", "closed"]
Thinking = Literal["off", "low", "medium", "high"]
Delivery = Literal["queue", "steer", "interrupt", "reject"]
"""What becomes of a message that arrives while a turn runs. On an idle session it starts one."""

EventType = Literal[
    "session.state",
    "session.created",
    "message.user",
    "message.delivered",
    "message.withdrawn",
    "turn.started",
    "message.delta",
    "message.assistant",
    "model.retry",
    "tool.call",
    "tool.progress",
    "tool.result",
    "context.compacted",
    "turn.recovered",
    "turn.completed",
    "turn.failed",
    "turn.interrupted",
    "session.closed",
]


class TextBlock(TypedDict):
    """Text. `Content` may also be a plain string."""

    type: Literal["text"]
    text: str


class ImageBlock(TypedDict):
    """An image: `data` is base64, `mime_type` such as `image/png`."""

    type: Literal["image"]
    data: str
    mime_type: str


Content = str | Sequence[TextBlock | ImageBlock | Mapping[str, Any]]
"""Text, or blocks of text and images."""


class Budget(TypedDict, total=False):
    """How much a session may use; what is left out has no limit."""

    tokens: int | None
    cost_usd: float | None


class SessionConfig(TypedDict):
    """What an agent is: `model` is `provider/model`, `tools` are names of the catalog."""

    model: str
    tools: NotRequired[list[str]]
    system_prompt: NotRequired[str | None]
    max_steps: NotRequired[int]
    max_output_tokens: NotRequired[int | None]
    temperature: NotRequired[float | None]
    thinking: NotRequired[Thinking]
    budget: NotRequired[Budget | None]


class NewSession(TypedDict):
    """The body of `POST /sessions`."""

    harness: str
    config: SessionConfig
    metadata: NotRequired[dict[str, Any]]


class SessionData(TypedDict):
    """A session as Brain shows it. Times are RFC 3339, in UTC."""

    id: str
    tenant_id: str
    harness: str
    config: dict[str, Any]
    status: Status
    created_at: str
    updated_at: str
    last_seq: int
    usage: dict[str, Any]
    metadata: dict[str, Any]


class SessionPage(TypedDict):
    """Sessions, newest first. `next_cursor` leads to those before, None at the end."""

    sessions: list[SessionData]
    next_cursor: str | None


class Tool(TypedDict):
    """A tool of the catalog."""

    name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: NotRequired[dict[str, Any]]


class Catalog(TypedDict):
    """What a tenant may use."""

    harnesses: list[dict[str, Any]]
    models: list[dict[str, Any]]
    tools: list[Tool]


class Accepted(TypedDict):
    """The answer to a message: it is durable. `seq` is that of its event."""

    message_id: str
    seq: int
    turn_id: str | None
    queued: bool


class QueuedMessage(TypedDict):
    """A message that waits for its turn."""

    message_id: str
    seq: int
    content: list[dict[str, Any]]
    delivery: Delivery
    created_at: str


class Message(TypedDict):
    """A message of the conversation, as in its event's data."""

    role: Literal["user", "assistant"]
    seq: int
    message_id: str
    content: list[dict[str, Any]]


class Interrupted(TypedDict):
    """The answer to an interrupt, once the turn has ended."""

    interrupted: bool
    turn_id: str | None


class Compacted(TypedDict):
    """The answer to a compaction: how large the context was, and is, in tokens."""

    tokens_before: int
    tokens_after: int


class Event(TypedDict):
    """An event. Those without `seq` are only shown live, and aren't in the log."""

    seq: NotRequired[int]
    type: EventType
    session_id: str
    turn_id: NotRequired[str | None]
    created_at: NotRequired[str]
    data: dict[str, Any]


_MIME_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}


def text(words: str) -> TextBlock:
    """A text block."""
    return {"type": "text", "text": words}


def image(source: bytes | str | Path, mime_type: str | None = None) -> ImageBlock:
    """An image block of bytes (with their type) or of a file, whose ending says its type.

    Raises `ValueError` if the type isn't known, `OSError` if the file can't be read.
    """
    if isinstance(source, bytes):
        data, known = source, None
    else:
        data, known = Path(source).read_bytes(), _MIME_TYPES.get(Path(source).suffix.lower())
    found = mime_type or known
    if found is None:
        raise ValueError("Say mime_type: image/png, image/jpeg, image/gif or image/webp.")
    return {"type": "image", "data": base64.b64encode(data).decode(), "mime_type": found}


def text_of(data: Event | Message | Mapping[str, Any]) -> str:
    """The text in an event's or a message's content, joined; empty if there is none."""
    said: Mapping[str, Any] = data
    blocks = said.get("content") or said.get("data", {}).get("content") or []
    return "".join(block["text"] for block in blocks if block.get("type") == "text")
