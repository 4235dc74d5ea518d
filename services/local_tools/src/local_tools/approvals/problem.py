"""Refusals of an operator's request, as `application/problem+json`. Above: `routes`."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

import msgspec
import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from local_tools.approvals.database import StoreUnavailable

Handler = Callable[[Request], Awaitable[Response]]
_log = structlog.get_logger(__name__)


class Refused(Exception):
    """A request that isn't done. `more` are further fields of the problem."""

    def __init__(self, status: int, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.more = more


def answers(value: Any, status: int = 200) -> Response:
    """A JSON answer, which nobody may keep."""
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return Response(
        msgspec.json.encode(value), status, headers=headers, media_type="application/json"
    )


def with_problems(handler: Handler) -> Handler:
    """A handler whose refusals become problems, in this one place."""

    async def handle(request: Request) -> Response:
        try:
            return await handler(request)
        except Refused as refused:
            return _problem(refused)
        except ClientDisconnect:
            return _problem(Refused(400, "The body ended early."))
        except StoreUnavailable as error:
            _log.error("store_unavailable", error=str(error))
            return _problem(Refused(503, "The approvals can't be read or written just now."))

    return handle


def _problem(refused: Refused) -> Response:
    body = {
        "type": "about:blank",
        "title": HTTPStatus(refused.status).phrase,
        "status": refused.status,
        "detail": str(refused),
        **refused.more,
    }
    answer = answers(body, refused.status)
    answer.headers["Content-Type"] = "application/problem+json"
    if refused.status == 401:
        answer.headers["WWW-Authenticate"] = "Bearer"
    return answer
