"""Events as SSE bytes, built once for each event and shared by all who follow it.

Above: `watch`, `follower`, `sse`. Below: nothing.
"""

from datetime import UTC, datetime

from msgspec import UNSET, Struct

from brain_core.clock import rfc3339
from brain_core.events import Event, SessionState, encode
from brain_core.session import Status
from brainapi.event.v1 import event_pb2

HEARTBEAT = b": keep-alive\n\n"


class Frame(Struct, frozen=True, gc=False):
    """One event. `seq` is 0 for a live-only event; `idle` says that the session is, after it."""

    seq: int
    data: bytes
    idle: bool


def frame_of(event: event_pb2.Event) -> Frame:
    """`event` as its SSE frame."""
    seq = event.seq
    name = event.type.encode()
    if seq:
        return Frame(seq, b"id: %d\nevent: %b\ndata: %b\n\n" % (seq, name, event.json), event.idle)
    return Frame(0, b"event: %b\ndata: %b\n\n" % (name, event.json), False)


def state_frame(session_id: str, status: Status, last_seq: int) -> bytes:
    """The frame that every stream begins with."""
    data = SessionState(status, last_seq)
    now = rfc3339(datetime.now(UTC))
    body = encode(Event(UNSET, SessionState.type, session_id, None, now, data))
    return b"event: %b\ndata: %b\n\n" % (SessionState.type.encode(), body)
