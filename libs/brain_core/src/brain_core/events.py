"""Events: what happened in a session, and their one JSON form.

A durable event is in the log and has a sequence number; a live-only event is not and has none.
An event is encoded once, when it is made; the log, gRPC and SSE carry those bytes untouched.
"""

from typing import Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from brain_core.content import AssistantBlock, ResultBlock, UserBlock
from brain_core.session import Delivery, SessionConfig, Status, ToolSpec
from brain_core.usage import Usage

StopReason = Literal["end_turn", "tool_calls", "length", "interrupted", "error"]
TurnStop = Literal["end_turn", "max_steps", "budget"]
InterruptReason = Literal["client", "close", "message"]


class EventData(Struct, frozen=True):
    """The `data` of an event; its class says the event's type."""

    type: ClassVar[str]
    durable: ClassVar[bool] = True


class SessionCreated(EventData, frozen=True):
    """The first event of every session. `tools` pins what the model sees of each tool."""

    type: ClassVar[str] = "session.created"
    harness: str
    config: SessionConfig
    metadata: Raw
    tools: tuple[ToolSpec, ...] = ()


class UserMessage(EventData, frozen=True):
    """A message was accepted. Where it stands in the model's context is where it is delivered."""

    type: ClassVar[str] = "message.user"
    message_id: str
    content: tuple[UserBlock, ...]
    delivery: Delivery


class MessagesDelivered(EventData, frozen=True):
    """Steered messages are part of the model's context from here on."""

    type: ClassVar[str] = "message.delivered"
    message_ids: tuple[str, ...]


class MessageWithdrawn(EventData, frozen=True):
    """A queued message will not be delivered."""

    type: ClassVar[str] = "message.withdrawn"
    message_id: str
    reason: str


class TurnStarted(EventData, frozen=True):
    """A turn began; it answers these messages."""

    type: ClassVar[str] = "turn.started"
    message_ids: tuple[str, ...]


class MessageDelta(EventData, frozen=True, omit_defaults=True):
    """A piece of the answer that is being made."""

    type: ClassVar[str] = "message.delta"
    durable: ClassVar[bool] = False
    message_id: str
    kind: Literal["text", "thinking", "tool_arguments"]
    text: str
    call_id: str | UnsetType = UNSET


class AssistantMessage(EventData, frozen=True):
    """What the model answered in one step."""

    type: ClassVar[str] = "message.assistant"
    message_id: str
    content: tuple[AssistantBlock, ...]
    model: str
    stop_reason: StopReason
    usage: Usage


class ErrorInfo(Struct, frozen=True):
    """A stable code and a sentence."""

    code: str
    message: str


class ModelRetry(EventData, frozen=True):
    """A model call failed in passing and is tried again after `delay_seconds`."""

    type: ClassVar[str] = "model.retry"
    attempt: int
    delay_seconds: float
    error: ErrorInfo


class ToolCalled(EventData, frozen=True):
    """A tool call is about to be checked and sent. Nothing is sent before this is durable."""

    type: ClassVar[str] = "tool.call"
    call_id: str
    name: str
    arguments: Raw


class ToolProgress(EventData, frozen=True):
    """Progress as the tool service sent it."""

    type: ClassVar[str] = "tool.progress"
    durable: ClassVar[bool] = False
    call_id: str
    progress: Raw


class ToolResulted(EventData, frozen=True):
    """What a call came to. Each `tool.call` has exactly one."""

    type: ClassVar[str] = "tool.result"
    call_id: str
    name: str
    content: tuple[ResultBlock, ...]
    is_error: bool
    unknown_outcome: bool
    structured_content: Raw | UnsetType = UNSET
    code: str | UnsetType = UNSET
    duration_ms: int = 0


class ContextCompacted(EventData, frozen=True):
    """The model's context was summarised; the log itself keeps everything.

    `summary` stands for all that the model was told before the event `first_kept_seq`.
    """

    type: ClassVar[str] = "context.compacted"
    summary: str
    first_kept_seq: int
    tokens_before: int
    tokens_after: int
    usage: Usage = Usage()


class CompactionFailed(EventData, frozen=True):
    """No summary came about; the context is as it was. `usage` is what the attempt has used."""

    type: ClassVar[str] = "context.compaction_failed"
    error: ErrorInfo
    usage: Usage = Usage()


class TurnRecovered(EventData, frozen=True):
    """The engine died in this turn and goes on with it; `open_call_ids` may have happened."""

    type: ClassVar[str] = "turn.recovered"
    open_call_ids: tuple[str, ...]
    attempt: int


class TurnCompleted(EventData, frozen=True):
    """The turn came to its end."""

    type: ClassVar[str] = "turn.completed"
    stop_reason: TurnStop
    usage: Usage


class TurnFailed(EventData, frozen=True):
    """The turn could not go on; the session stays usable."""

    type: ClassVar[str] = "turn.failed"
    error: ErrorInfo
    usage: Usage = Usage()


class TurnInterrupted(EventData, frozen=True):
    """The turn was stopped from outside."""

    type: ClassVar[str] = "turn.interrupted"
    reason: InterruptReason
    usage: Usage = Usage()


class SessionClosed(EventData, frozen=True):
    """The session takes no more messages."""

    type: ClassVar[str] = "session.closed"


class SessionState(EventData, frozen=True):
    """The first event of each stream: where the session stood when the reader joined."""

    type: ClassVar[str] = "session.state"
    durable: ClassVar[bool] = False
    status: Status
    last_seq: int


class UnknownEvent(EventData, frozen=True):
    """An event of a type that this version doesn't know, kept as it is."""

    type: ClassVar[str] = "unknown"
    raw: Raw


def used(data: EventData) -> Usage | None:
    """What the model calls that this event tells of have used; None if it tells of none."""
    if isinstance(data, AssistantMessage | ContextCompacted | CompactionFailed):
        return data.usage
    return None


class Event(Struct, frozen=True):
    """The envelope. `seq` is unset in live-only events; `turn_id` is null outside turns."""

    seq: int | UnsetType
    type: str
    session_id: str
    turn_id: str | None
    created_at: str
    data: EventData


class _Envelope(Struct, frozen=True):
    type: str
    session_id: str
    created_at: str
    data: Raw
    turn_id: str | None = None
    seq: int | UnsetType = field(default=UNSET)


def _subclasses() -> dict[str, type[EventData]]:
    return {cls.type: cls for cls in EventData.__subclasses__() if cls is not UnknownEvent}


_encoder = msgspec.json.Encoder()
_envelope_decoder = msgspec.json.Decoder(_Envelope)
_data_decoders: dict[str, msgspec.json.Decoder[Any]] = {
    name: msgspec.json.Decoder(cls) for name, cls in _subclasses().items()
}


def encode(event: Event) -> bytes:
    """The event's JSON, compact: no line break in it, so that it fits one SSE `data:` line."""
    return _encoder.encode(event)


def decode(raw: bytes) -> Event:
    """Read an event back from its JSON; fields that are not known are passed over."""
    envelope = _envelope_decoder.decode(raw)
    decoder = _data_decoders.get(envelope.type)
    data = UnknownEvent(envelope.data) if decoder is None else decoder.decode(envelope.data)
    return Event(
        envelope.seq,
        envelope.type,
        envelope.session_id,
        envelope.turn_id,
        envelope.created_at,
        data,
    )
