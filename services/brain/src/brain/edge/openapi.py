"""The OpenAPI document: what each route takes and every way in which it answers.

Above: routes describe themselves with `documented`; `app` serves the document. Below: the shapes
in `models` (pydantic) and `views` (msgspec).
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from msgspec import Struct
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from brain.edge import models, views
from brain.edge.problems import MEDIA_TYPE, Problem
from brain.edge.query import NoQuery

REF = "#/components/schemas/{model}"
_BEARER = "apiKey"
_BODIES = (
    models.CreateSession,
    models.SendMessage,
    models.Interrupt,
    models.Compact,
    models.Close,
)
_VIEWS = (
    Problem,
    views.Session,
    views.SessionList,
    views.AcceptedMessage,
    views.QueuedMessageList,
    views.Interrupted,
    views.Compacted,
    views.UsageList,
    views.Catalog,
    views.Event,
    views.EventPage,
    views.Health,
)
_ALWAYS = (400, 401, 403, 422, 429, 500, 503)
_TEXT = {"schema": {"type": "string"}}

PROBLEMS: Mapping[int, str] = {
    400: "The request is not HTTP, or its body not JSON.",
    401: "No key, a wrong key, or an inspection token that is no longer valid.",
    403: "An inspection token was used for more than reading its own session.",
    404: "There is nothing here, or it is another tenant's.",
    409: "The session is not in a state for this.",
    413: "The body is too large.",
    415: "The body's media type is not JSON.",
    422: "The request is not valid; `errors` names each wrong part.",
    429: "Too much is being asked at once.",
    500: "Something went wrong on the server.",
    503: "The engine can't be reached now.",
}
_PROBLEM_HEADERS: Mapping[int, Mapping[str, str]] = {
    401: {"WWW-Authenticate": "`Bearer`."},
    429: {"Retry-After": "Seconds to wait before the next attempt."},
    503: {"Retry-After": "Seconds to wait before the next attempt."},
}


class RouteDoc(TypedDict):
    """Keyword arguments for a route decorator."""

    status_code: int
    responses: dict[int | str, dict[str, Any]]
    openapi_extra: dict[str, Any]


class Answer(Struct, frozen=True):
    """How a route answers when all is well."""

    status: int
    description: str
    view: type[Struct] | None = None
    headers: dict[str, str] = {}
    also: dict[str, Any] = {}


def documented(
    answer: Answer,
    *,
    problems: Sequence[int] = (),
    body: type[BaseModel] | None = None,
    body_required: bool = True,
    query: type[NoQuery] = NoQuery,
    headers: Mapping[str, Mapping[str, Any]] | None = None,
) -> RouteDoc:
    """Describe a route: its parameters, its body, its answers. `_ALWAYS` goes with all."""
    with_body = (413, 415) if body else ()
    statuses = sorted({*problems, *with_body, *_ALWAYS})
    extra: dict[str, Any] = {"parameters": [*_query(query), *_headers(headers or {})]}
    if body is not None:
        content = {"application/json": {"schema": _ref(body.__name__)}}
        extra["requestBody"] = {"required": body_required, "content": content}
    responses: dict[int | str, dict[str, Any]] = {answer.status: _answer(answer)}
    responses |= {status: problem_answer(status) for status in statuses}
    return {"status_code": answer.status, "responses": responses, "openapi_extra": extra}


def documented_public(answer: Answer, *problems: int) -> RouteDoc:
    """Describe a route that needs no key."""
    statuses = sorted({*problems, 400, 422, 500})
    responses: dict[int | str, dict[str, Any]] = {answer.status: _answer(answer)}
    responses |= {status: problem_answer(status) for status in statuses}
    return {"status_code": answer.status, "responses": responses, "openapi_extra": {}}


def problem_answer(status: int) -> dict[str, Any]:
    """How an error is described."""
    headers = _PROBLEM_HEADERS.get(status, {})
    return {
        "description": PROBLEMS[status],
        "content": {MEDIA_TYPE: {"schema": _ref("Problem")}},
        "headers": {name: {"description": text, **_TEXT} for name, text in headers.items()},
    }


def install(app: FastAPI, public_paths: frozenset[str], public_url: str) -> None:
    """Make `app.openapi` give the whole document."""

    def build() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app, public_paths, public_url)
        return app.openapi_schema

    app.openapi = build


def _document(app: FastAPI, public_paths: frozenset[str], public_url: str) -> dict[str, Any]:
    document = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description,
        routes=app.routes,
        servers=[{"url": public_url}],
    )
    scheme = {"type": "http", "scheme": "bearer", "description": "A key of your tenant."}
    document["components"] = {
        "schemas": dict(sorted({**_body_schemas(), **views.schemas(*_VIEWS)}.items())),
        "securitySchemes": {_BEARER: scheme},
    }
    for path, operations in document["paths"].items():
        if path not in public_paths:
            for operation in operations.values():
                operation["security"] = [{_BEARER: []}]
    return document


def _body_schemas() -> dict[str, Any]:
    wanted = [(model, "validation") for model in _BODIES]
    _, schema = models_json_schema(wanted, ref_template=REF)  # type: ignore[arg-type]
    return dict(schema["$defs"])


def _answer(answer: Answer) -> dict[str, Any]:
    headers = {name: {"description": text, **_TEXT} for name, text in answer.headers.items()}
    described: dict[str, Any] = {"description": answer.description, "headers": headers}
    if answer.view is not None:
        schema = _ref(answer.view.__name__)
        described["content"] = {"application/json": {"schema": schema}, **answer.also}
    return described


def _query(query: type[NoQuery]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "query",
            "required": False,
            "description": schema.pop("description", ""),
            "schema": _without_null(schema),
        }
        for name, schema in query.model_json_schema().get("properties", {}).items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter that may be left out is not one that may be null."""
    options = [option for option in schema.pop("anyOf", []) if option != {"type": "null"}]
    if options:
        schema.pop("default", None)
    return {**schema, **(options[0] if options else {})}


def _headers(headers: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "header", "required": False, **schema}
        for name, schema in headers.items()
    ]


def _ref(name: str) -> dict[str, str]:
    return {"$ref": REF.format(model=name)}
