"""Query parameters and headers: digits, known words, and nothing that isn't known.

Above: routes. Below: `validation`. A parameter that is unknown or given twice is refused, so that
a misspelt `after` doesn't silently mean the beginning.
"""

import re
from contextlib import suppress
from datetime import date
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from starlette.requests import Request

from brain.edge.problems import Violation, invalid
from brain.edge.validation import validate

MAX_SEQ = 2**63 - 1
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_INTEGER = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)


def _digits(value: object) -> object:
    if not isinstance(value, str):
        return value
    if _INTEGER.fullmatch(value) is None:
        raise ValueError("This must be a whole number in plain digits.")
    return int(value)


def _date(value: object) -> object:
    if not isinstance(value, str):
        return value
    with suppress(ValueError):
        if _DAY.fullmatch(value):
            return date.fromisoformat(value)
    raise ValueError("This must be a day such as `2026-12-01`.")


_DIGITS = BeforeValidator(_digits)
_DATE = BeforeValidator(_date)


class NoQuery(BaseModel):
    """The route takes no query parameters."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ListSessionsQuery(NoQuery):
    """How `GET /sessions` is paged."""

    limit: Annotated[int, Field(ge=1, le=200, description="At most this many."), _DIGITS] = 50
    cursor: Annotated[
        str | None,
        Field(min_length=1, max_length=512, description="`next_cursor` of the page before."),
    ] = None
    status: Annotated[
        Literal["idle", "running", "closed"] | None, Field(description="Only these.")
    ] = None


class ListMessagesQuery(NoQuery):
    """Which messages are listed; only those that wait can be."""

    status: Annotated[Literal["queued"], Field(description="Only `queued` exists.")] = "queued"


class EventsQuery(NoQuery):
    """Where a page or a stream of events begins, and where it ends."""

    after: Annotated[
        int, Field(ge=0, le=MAX_SEQ, description="Only events with a greater `seq`."), _DIGITS
    ] = 0
    limit: Annotated[
        int,
        Field(ge=1, le=1000, description="At most this many in a page; no effect on a stream."),
        _DIGITS,
    ] = 200
    until: Annotated[
        Literal["idle"] | None,
        Field(description="Ends a stream once the session is idle; no effect on a page."),
    ] = None


class UsageQuery(NoQuery):
    """Which days of usage are summed up."""

    from_day: Annotated[
        date | None, Field(alias="from", description="The first day, in UTC."), _DATE
    ] = None
    to_day: Annotated[
        date | None, Field(alias="to", description="The last day, in UTC."), _DATE
    ] = None


class _LastEventId(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    last_event_id: Annotated[int, Field(alias="last-event-id", ge=0, le=MAX_SEQ), _DIGITS]


_Query = TypeVar("_Query", bound=NoQuery)


def read_query(request: Request, model: type[_Query]) -> _Query:
    """The query as `model`, or a 422 with pointers such as `/query/limit`."""
    given: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name in given:
            raise invalid(Violation(f"/query/{name}", "This parameter is given twice."))
        given[name] = value
    return validate(model, given, "/query")


def last_event_id(request: Request) -> int | None:
    """The `Last-Event-ID` header, None without one; a wrong one is a 422."""
    value = request.headers.get("last-event-id")
    if value is None:
        return None
    return validate(_LastEventId, {"last-event-id": value}, "/header").last_event_id
