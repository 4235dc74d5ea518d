"""Between the API's shapes and the engine's messages.

Above: routes. Below: brainapi's messages.
"""

import msgspec
from msgspec import UNSET, Raw

from brain.edge import models, views
from brain.edge.problems import Violation, invalid
from brain_core.content import ImageBlock, TextBlock, UserBlock
from brain_core.session import (
    DEFAULT_MAX_STEPS,
    Budget,
    Delivery,
    SessionConfig,
    Status,
    Thinking,
)
from brain_core.usage import Usage
from brainapi.event.v1.event_pb2 import Event
from brainapi.session.v1 import session_pb2 as pb
from brainapi.session.v1.session_service_pb2 import (
    GetCatalogResponse,
    GetUsageResponse,
    ListEventsResponse,
)

DELIVERY: dict[Delivery, pb.Delivery.ValueType] = {
    "queue": pb.DELIVERY_QUEUE,
    "steer": pb.DELIVERY_STEER,
    "interrupt": pb.DELIVERY_INTERRUPT,
    "reject": pb.DELIVERY_REJECT,
}
STATUS: dict[Status, pb.SessionStatus.ValueType] = {
    "idle": pb.SESSION_STATUS_IDLE,
    "running": pb.SESSION_STATUS_RUNNING,
    "closed": pb.SESSION_STATUS_CLOSED,
}
_THINKING: dict[Thinking, pb.ThinkingLevel.ValueType] = {
    "off": pb.THINKING_LEVEL_OFF,
    "low": pb.THINKING_LEVEL_LOW,
    "medium": pb.THINKING_LEVEL_MEDIUM,
    "high": pb.THINKING_LEVEL_HIGH,
}
_DELIVERY_NAMES: dict[pb.Delivery.ValueType, Delivery] = {
    value: name for name, value in DELIVERY.items()
}
_THINKING_NAMES: dict[pb.ThinkingLevel.ValueType, Thinking] = {
    value: name for name, value in _THINKING.items()
}
STATUS_NAMES: dict[pb.SessionStatus.ValueType, Status] = {
    value: name for name, value in STATUS.items()
}


class _MetadataOnly(msgspec.Struct):
    metadata: Raw = Raw(b"{}")


_metadata_decoder = msgspec.json.Decoder(_MetadataOnly)


def metadata_json(body: bytes, limit: int) -> bytes:
    """The `metadata` of a checked body, compact, its numbers as the client wrote them."""
    compact = msgspec.json.format(bytes(_metadata_decoder.decode(body).metadata), indent=-1)
    if len(compact) > limit:
        raise invalid(Violation("/metadata", f"Metadata may have {limit} bytes at most."))
    return compact


def config_message(config: models.NewSessionConfig) -> pb.SessionConfig:
    """A checked config for the engine."""
    budget = config.budget
    return pb.SessionConfig(
        model=config.model,
        tools=config.tools,
        system_prompt=config.system_prompt,
        max_steps=config.max_steps,
        max_output_tokens=config.max_output_tokens,
        temperature=config.temperature,
        thinking=_THINKING[config.thinking],
        budget=budget and pb.Budget(tokens=budget.tokens, cost_usd=budget.cost_usd),
    )


def content_message(content: models.Content) -> list[pb.ContentBlock]:
    """Checked content for the engine; plain text is one block."""
    if isinstance(content, str):
        return [pb.ContentBlock(text=pb.TextBlock(text=content))]
    return [_block_message(block) for block in content]


def _block_message(block: models.Text | models.Image) -> pb.ContentBlock:
    if isinstance(block, models.Text):
        return pb.ContentBlock(text=pb.TextBlock(text=block.text))
    return pb.ContentBlock(image=pb.ImageBlock(data=block.data, mime_type=block.mime_type))


def session_view(session: pb.Session) -> views.Session:
    """A session as clients see it."""
    return views.Session(
        id=session.id,
        tenant_id=session.tenant_id,
        harness=session.harness,
        config=_config(session.config),
        status=STATUS_NAMES[session.status],
        created_at=session.created_at,
        updated_at=session.updated_at,
        last_seq=session.last_seq,
        usage=_usage(session.usage),
        metadata=Raw(session.metadata_json or b"{}"),
    )


def _config(config: pb.SessionConfig) -> SessionConfig:
    budget = config.budget
    return SessionConfig(
        model=config.model,
        tools=tuple(config.tools),
        system_prompt=config.system_prompt if config.HasField("system_prompt") else None,
        max_steps=config.max_steps or DEFAULT_MAX_STEPS,
        max_output_tokens=(
            config.max_output_tokens if config.HasField("max_output_tokens") else None
        ),
        temperature=config.temperature if config.HasField("temperature") else None,
        thinking=_THINKING_NAMES.get(config.thinking, "off"),
        budget=_budget(budget) if config.HasField("budget") else None,
    )


def _budget(budget: pb.Budget) -> Budget:
    return Budget(
        tokens=budget.tokens if budget.HasField("tokens") else None,
        cost_usd=budget.cost_usd if budget.HasField("cost_usd") else None,
    )


def _usage(usage: pb.Usage) -> Usage:
    return Usage(**{field.name: value for field, value in usage.ListFields()})


def usage_list(answer: GetUsageResponse) -> views.UsageList:
    """A tenant's usage as clients see it."""
    listed = [views.DailyUsage(each.day, each.model, _usage(each.usage)) for each in answer.usage]
    return views.UsageList(listed, sum((each.usage for each in listed), Usage()))


def queued_view(message: pb.QueuedMessage) -> views.QueuedMessage:
    """A message that waits, as clients see it."""
    return views.QueuedMessage(
        message_id=message.message_id,
        seq=message.seq,
        delivery=_DELIVERY_NAMES.get(message.delivery, "queue"),
        content=[_block(block) for block in message.content],
        created_at=message.created_at,
    )


def _block(block: pb.ContentBlock) -> UserBlock:
    if block.HasField("image"):
        return ImageBlock(data=block.image.data, mime_type=block.image.mime_type)
    return TextBlock(text=block.text.text)


def catalog_view(catalog: GetCatalogResponse) -> views.Catalog:
    """A catalog as clients see it; schemas are the engine's bytes."""
    return views.Catalog(
        harnesses=[views.Named(name) for name in catalog.harnesses],
        models=[views.Identified(name) for name in catalog.models],
        tools=[_tool(tool) for tool in catalog.tools],
    )


def _tool(tool: pb.CatalogTool) -> views.Tool:
    output = tool.output_schema_json
    return views.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=Raw(tool.input_schema_json),
        output_schema=Raw(output) if output else UNSET,
    )


def event_page(page: ListEventsResponse, after: int) -> bytes:
    """A page of events as JSON, each event the engine's bytes."""
    events: list[Event] = list(page.events)
    next_after = events[-1].seq if events else after
    more = b"true" if page.has_more else b"false"
    joined = b",".join(event.json for event in events)
    return b'{"events":[%b],"next_after":%d,"has_more":%b}' % (joined, next_after, more)
