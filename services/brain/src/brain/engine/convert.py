"""Between the wire's messages and the engine's values. Above: `servicer`. Below: `brain_core`."""

from collections.abc import Sequence

import msgspec
from msgspec import Raw

from brain.engine.log.protocol import DailyUsage, SessionRecord, StoredEvent
from brain.engine.session.fanout import Emitted
from brain.engine.session.state import WaitingMessage
from brain_core.content import ImageBlock, TextBlock, UserBlock
from brain_core.session import (
    DEFAULT_MAX_STEPS,
    Budget,
    Delivery,
    SessionConfig,
    Status,
    Thinking,
    no_metadata,
)
from brain_core.usage import Usage
from brainapi.event.v1 import event_pb2
from brainapi.session.v1 import session_pb2 as pb

_STATUS: "dict[Status, pb.SessionStatus.ValueType]" = {
    "idle": pb.SESSION_STATUS_IDLE,
    "running": pb.SESSION_STATUS_RUNNING,
    "closed": pb.SESSION_STATUS_CLOSED,
}
_STATUS_BACK: dict[int, Status] = {wire: status for status, wire in _STATUS.items()}
_THINKING: "dict[Thinking, pb.ThinkingLevel.ValueType]" = {
    "off": pb.THINKING_LEVEL_OFF,
    "low": pb.THINKING_LEVEL_LOW,
    "medium": pb.THINKING_LEVEL_MEDIUM,
    "high": pb.THINKING_LEVEL_HIGH,
}
_THINKING_BACK: dict[int, Thinking] = {wire: level for level, wire in _THINKING.items()}
_DELIVERY: "dict[Delivery, pb.Delivery.ValueType]" = {
    "queue": pb.DELIVERY_QUEUE,
    "steer": pb.DELIVERY_STEER,
    "interrupt": pb.DELIVERY_INTERRUPT,
    "reject": pb.DELIVERY_REJECT,
}
_DELIVERY_BACK: dict[int, Delivery] = {wire: delivery for delivery, wire in _DELIVERY.items()}


class Malformed(Exception):
    """The message can't be read; its text says why and is fit for the caller."""


def status_to_wire(status: Status) -> "pb.SessionStatus.ValueType":
    """A status as the wire has it."""
    return _STATUS[status]


def status_filter(wire: "pb.SessionStatus.ValueType") -> Status | None:
    """A status to filter by; None if unspecified."""
    return _STATUS_BACK.get(wire)


def delivery_from_wire(wire: "pb.Delivery.ValueType") -> Delivery:
    """How to deliver a message; unspecified is `queue`. Raises: Malformed."""
    if wire == pb.DELIVERY_UNSPECIFIED:
        return "queue"
    if wire not in _DELIVERY_BACK:
        raise Malformed(f"delivery must be one of {', '.join(pb.Delivery.keys()[1:])}")
    return _DELIVERY_BACK[wire]


def _thinking_from_wire(wire: "pb.ThinkingLevel.ValueType") -> Thinking:
    if wire == pb.THINKING_LEVEL_UNSPECIFIED:
        return "off"
    if wire not in _THINKING_BACK:
        raise Malformed(f"config.thinking must be one of {', '.join(pb.ThinkingLevel.keys()[1:])}")
    return _THINKING_BACK[wire]


def config_from_wire(wire: pb.SessionConfig) -> SessionConfig:
    """A session config; what is absent has its default. Raises: Malformed."""
    return SessionConfig(
        model=wire.model,
        tools=tuple(wire.tools),
        system_prompt=wire.system_prompt if wire.HasField("system_prompt") else None,
        max_steps=wire.max_steps if wire.HasField("max_steps") else DEFAULT_MAX_STEPS,
        max_output_tokens=wire.max_output_tokens if wire.HasField("max_output_tokens") else None,
        temperature=wire.temperature if wire.HasField("temperature") else None,
        thinking=_thinking_from_wire(wire.thinking),
        budget=_budget_from_wire(wire.budget) if wire.HasField("budget") else None,
    )


def _budget_from_wire(wire: pb.Budget) -> Budget:
    return Budget(
        tokens=wire.tokens if wire.HasField("tokens") else None,
        cost_usd=wire.cost_usd if wire.HasField("cost_usd") else None,
    )


def _config_to_wire(config: SessionConfig) -> pb.SessionConfig:
    budget = config.budget
    return pb.SessionConfig(
        model=config.model,
        tools=config.tools,
        system_prompt=config.system_prompt,
        max_steps=config.max_steps,
        max_output_tokens=config.max_output_tokens,
        temperature=config.temperature,
        thinking=_THINKING[config.thinking],
        budget=pb.Budget(tokens=budget.tokens, cost_usd=budget.cost_usd) if budget else None,
    )


def metadata_from_wire(wire: bytes) -> Raw:
    """The metadata as compact JSON. Raises: Malformed, if it isn't a JSON object."""
    if not wire:
        return no_metadata()
    try:
        value = msgspec.json.decode(wire)
        compact = msgspec.json.format(wire, indent=-1)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise Malformed("metadata_json must be a JSON object") from error
    if not isinstance(value, dict):
        raise Malformed("metadata_json must be a JSON object")
    return Raw(compact)


def content_from_wire(wire: Sequence[pb.ContentBlock]) -> tuple[UserBlock, ...]:
    """The blocks of a message. Raises: Malformed, if there is none or one is empty."""
    if not wire:
        raise Malformed("content must have at least one block")
    return tuple(_block_from_wire(block) for block in wire)


def _block_from_wire(wire: pb.ContentBlock) -> UserBlock:
    if wire.HasField("text"):
        return TextBlock(wire.text.text)
    if wire.HasField("image"):
        return ImageBlock(wire.image.data, wire.image.mime_type)
    raise Malformed("each block of content must be text or an image")


def _block_to_wire(block: UserBlock) -> pb.ContentBlock:
    if isinstance(block, TextBlock):
        return pb.ContentBlock(text=pb.TextBlock(text=block.text))
    return pb.ContentBlock(image=pb.ImageBlock(data=block.data, mime_type=block.mime_type))


def session_to_wire(record: SessionRecord) -> pb.Session:
    """A session as callers see it."""
    return pb.Session(
        id=record.id,
        tenant_id=record.tenant_id,
        harness=record.harness,
        config=_config_to_wire(record.config),
        status=_STATUS[record.status],
        created_at=record.created_at,
        updated_at=record.updated_at,
        last_seq=record.last_seq,
        usage=_usage_to_wire(record.usage),
        metadata_json=bytes(record.metadata),
    )


def _usage_to_wire(usage: Usage) -> pb.Usage:
    return pb.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        cost_usd=usage.cost_usd,
    )


def daily_usage_to_wire(daily: DailyUsage) -> pb.DailyUsage:
    """What was used on one day."""
    return pb.DailyUsage(day=daily.day, model=daily.model, usage=_usage_to_wire(daily.usage))


def queued_to_wire(message: WaitingMessage) -> pb.QueuedMessage:
    """A message that waits."""
    return pb.QueuedMessage(
        message_id=message.message_id,
        seq=message.seq,
        delivery=_DELIVERY[message.delivery],
        content=[_block_to_wire(block) for block in message.content],
        created_at=message.created_at,
    )


def stored_to_wire(event: StoredEvent) -> event_pb2.Event:
    """An event read from the log."""
    return event_pb2.Event(seq=event.seq, type=event.type, json=event.body)


def emitted_to_wire(event: Emitted) -> event_pb2.Event:
    """An event on its way to a reader."""
    return event_pb2.Event(seq=event.seq, type=event.type, json=event.body, idle=event.idle)
