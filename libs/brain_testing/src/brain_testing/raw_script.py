"""What a scripted tool server does: steps, taken one after the other. Above: `tool_server`.

    (Read(), Send(head("text/event-stream")), Gate("operator"), Send(event("result", ok("yes"))))

A script that ends leaves its connection open for the next request, unless its last step closes it.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from brain_testing.raw_request import RawRequest


@dataclass(frozen=True)
class Read:
    """Read the whole request. `head_only` leaves its body in the socket."""

    head_only: bool = False


@dataclass(frozen=True)
class Send:
    """Send bytes, in pieces of `piece` bytes if that is set."""

    data: bytes
    piece: int | None = None


@dataclass(frozen=True)
class Flood:
    """Send the same bytes over and over, until the client has gone or `times` is reached."""

    data: bytes
    times: int | None = None


@dataclass(frozen=True)
class Reach:
    """Let the test know that this point was reached: `await server.reached(name)`."""

    name: str


@dataclass(frozen=True)
class Gate:
    """Reach this point, then wait until the test lets the script go on: `server.open(name)`."""

    name: str


@dataclass(frozen=True)
class UntilGone:
    """Wait until the client has closed the connection."""


@dataclass(frozen=True)
class Close:
    """Close the connection."""


@dataclass(frozen=True)
class Reset:
    """Reset the connection: the client gets an error, not an end."""


@dataclass(frozen=True)
class Choose:
    """Go on with the steps that the request, which was read, asks for."""

    script: "Callable[[RawRequest], Script]"


Step = Choose | Read | Send | Flood | Reach | Gate | UntilGone | Close | Reset
Script = tuple[Step, ...]


def head(content_type: str | None, *fields: str, status: str = "200 OK") -> bytes:
    """A status line and headers, for example `head("application/json", "Content-Length: 2")`."""
    lines = [f"HTTP/1.1 {status}"]
    if content_type is not None:
        lines.append(f"Content-Type: {content_type}")
    return "\r\n".join([*lines, *fields, "", ""]).encode("latin-1")


def response(
    body: bytes | str | Any,
    *fields: str,
    content_type: str | None = "application/json",
    status: str = "200 OK",
) -> bytes:
    """A response of known length. A body that is neither bytes nor text is sent as JSON."""
    data = as_bytes(body)
    return head(content_type, f"Content-Length: {len(data)}", *fields, status=status) + data


def chunks(*pieces: bytes, last: bool = True) -> bytes:
    """A body in `Transfer-Encoding: chunked`."""
    body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return body + (b"0\r\n\r\n" if last else b"")


def event(name: str | None, data: Any, *, newline: str = "\n") -> bytes:
    """A server-sent event; `data` is sent as JSON unless it is bytes or text."""
    lines = [] if name is None else [f"event: {name}"]
    lines += [f"data: {line}" for line in as_bytes(data).decode().split("\n")]
    return newline.join([*lines, "", ""]).encode()


def ok(text: str = "ok", **fields: Any) -> dict[str, Any]:
    """A result object with one text block."""
    return {"content": [{"type": "text", "text": text}], **fields}


def as_bytes(body: bytes | str | Any) -> bytes:
    """Bytes as they are, text in UTF-8, anything else as JSON."""
    if isinstance(body, bytes):
        return body
    return (body if isinstance(body, str) else json.dumps(body)).encode()


def answers(body: bytes | str | Any, *fields: str, **how: Any) -> Script:
    """The script that most services follow: read the request, send one response."""
    return (Read(), Send(response(body, *fields, **how)))


def streams(*parts: bytes, piece: int | None = None) -> Script:
    """Read the request, send these bytes as an event stream, and close."""
    return (
        Read(),
        Send(head("text/event-stream", "Connection: close")),
        *(Send(part, piece) for part in parts),
        Close(),
    )
