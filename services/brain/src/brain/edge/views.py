"""What clients get, as msgspec structs: encoded straight to bytes, and described in OpenAPI.

Above: routes and `openapi`. Below: `brain_core`'s shapes, which are the API's own.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType
from starlette.responses import Response

from brain_core.content import UserBlock
from brain_core.session import Delivery, SessionConfig, Status
from brain_core.usage import Usage

JsonObject = Annotated[Raw, Meta(extra_json_schema={"type": "object"})]
Seq = Annotated[int, Meta(ge=0)]
Day = Annotated[str, Meta(extra_json_schema={"format": "date"})]
Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]


class Session(Struct, frozen=True):
    """A session. `usage` is the sum over its model calls; what is unknown is null."""

    id: str
    tenant_id: str
    harness: str
    config: SessionConfig
    status: Status
    created_at: Time
    updated_at: Time
    last_seq: Seq
    usage: Usage
    metadata: JsonObject


class SessionList(Struct, frozen=True):
    """A page of sessions, newest first; `next_cursor` is null on the last one."""

    sessions: list[Session]
    next_cursor: str | None


class AcceptedMessage(Struct, frozen=True):
    """A message that is in the log. `turn_id` is null while it is queued."""

    message_id: str
    seq: Seq
    turn_id: str | None
    queued: bool


class QueuedMessage(Struct, frozen=True):
    """A message that waits."""

    message_id: str
    seq: Seq
    delivery: Delivery
    content: list[UserBlock]
    created_at: Time


class QueuedMessageList(Struct, frozen=True):
    """The messages that wait, in order."""

    messages: list[QueuedMessage]


class Interrupted(Struct, frozen=True):
    """Whether a turn was ended, and which."""

    interrupted: bool
    turn_id: str | None


class Compacted(Struct, frozen=True):
    """About how many tokens the model's context had, and has."""

    tokens_before: Seq
    tokens_after: Seq


class DailyUsage(Struct, frozen=True):
    """What the calls of one model have used on one day, in UTC; what is unknown is null."""

    day: Day
    model: str
    usage: Usage


class UsageList(Struct, frozen=True):
    """By day, then by model; and the sum of it."""

    usage: list[DailyUsage]
    total: Usage


class Named(Struct, frozen=True):
    """A harness."""

    name: str


class Identified(Struct, frozen=True):
    """A model; `provider/*` where any model of the provider can be named."""

    id: str


class Tool(Struct, frozen=True):
    """A tool as the tenant may enable it."""

    name: str
    description: str
    input_schema: JsonObject
    output_schema: JsonObject | UnsetType = UNSET


class Catalog(Struct, frozen=True):
    """What the tenant may use."""

    harnesses: list[Named]
    models: list[Identified]
    tools: list[Tool]


class Event(Struct, frozen=True):
    """An event. Only durable events have a `seq`; `data` depends on the `type`."""

    type: str
    session_id: str
    turn_id: str | None
    created_at: Time
    data: JsonObject
    seq: Annotated[int, Meta(ge=1)] | UnsetType = UNSET


class EventPage(Struct, frozen=True):
    """A page of the log. `next_after` is the `after` of the next page."""

    events: list[Event]
    next_after: Seq
    has_more: bool


class Health(Struct, frozen=True):
    """All is well."""

    status: Literal["ok"] = "ok"


_encoder = msgspec.json.Encoder()


def answer(view: Struct, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """`view` as a JSON answer."""
    return Response(_encoder.encode(view), status, headers, "application/json")


def schemas(*views: type[Any]) -> dict[str, Any]:
    """The JSON Schemas of `views` and of what is in them, by name."""
    _, components = msgspec.json.schema_components(
        views, ref_template="#/components/schemas/{name}"
    )
    return components
