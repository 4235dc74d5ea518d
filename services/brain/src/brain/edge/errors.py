"""The one place where what goes wrong becomes an HTTP answer.

Above: the whole app, wrapped by `ErrorMiddleware`. Below: `problems`. gRPC status codes are
translated here; what nobody expected is logged and answered with a 500 that tells nothing.
"""

import grpc
import structlog
from fastapi import FastAPI
from grpc.aio import AioRpcError, Metadata
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from brain.edge.problems import (
    ProblemError,
    ProblemResponse,
    Violation,
    not_found,
    problem,
    too_much,
    unavailable,
)
from brainapi.session.v1.session_pb2 import ErrorDetail

ERROR_DETAIL_KEY = "brain-error-bin"

_log = structlog.get_logger(__name__)


class ErrorMiddleware:
    """Answers with a problem whatever is raised below it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def sender(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, sender)
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001 - this is where every exception ends
            answer = translate(error)
            if answer.problem.status == 500:
                _report(error, scope["path"])
            if not started:
                await ProblemResponse(answer)(scope, receive, send)


def _report(error: Exception, path: str) -> None:
    """Tell the operator what the client isn't told."""
    if isinstance(error, AioRpcError):
        _log.error("engine_failed", path=path, code=str(error.code()), details=error.details())
    else:
        _log.error("request_failed", path=path, exc_info=error)


def translate(error: Exception) -> ProblemError:
    """What the client is told of `error`."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, AioRpcError):
        return _from_grpc(error)
    return ProblemError(problem(500, "Something went wrong on the server."))


def _from_grpc(error: AioRpcError) -> ProblemError:
    code = error.code()
    if code is grpc.StatusCode.NOT_FOUND:
        return not_found(_detail_of(error).code, error.details())
    if code in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}:
        return unavailable()
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return too_much()
    status = _STATUS.get(code)
    if status is None:
        return ProblemError(problem(500, "Something went wrong on the server."))
    detail = _detail_of(error)
    violations = tuple(Violation(item.pointer, item.detail) for item in detail.violations)
    told = error.details() or "The request can't be carried out."
    return ProblemError(problem(status, told, code=detail.code, errors=violations))


_STATUS = {
    grpc.StatusCode.FAILED_PRECONDITION: 409,
    grpc.StatusCode.ABORTED: 409,
    grpc.StatusCode.INVALID_ARGUMENT: 422,
}
"""Codes whose text the engine wrote for the client."""


def _detail_of(error: AioRpcError) -> ErrorDetail:
    value = (error.trailing_metadata() or Metadata()).get(ERROR_DETAIL_KEY)
    return ErrorDetail.FromString(value) if isinstance(value, bytes) else ErrorDetail()


async def routing_error(request: Request, error: Exception) -> Response:
    """No such route, or not with this method: what Starlette says, as a problem."""
    if not isinstance(error, HTTPException):
        raise error
    if error.status_code == 405:
        detail = f"{request.method} is not possible here."
        allowed = ", ".join(sorted(_methods(request)))
        return ProblemResponse(ProblemError(problem(405, detail), {"Allow": allowed}))
    if error.status_code == 404:
        return ProblemResponse(not_found())
    return ProblemResponse(ProblemError(problem(error.status_code, error.detail)))


def _methods(request: Request) -> set[str]:
    """Every method that some route takes at this path; Starlette looks at the first route only."""
    app: FastAPI = request.app
    found: set[str] = set()
    for route in app.routes:
        if _matches(route, request.scope) and isinstance(route, Route):
            found |= route.methods or set()
    return found


def _matches(route: BaseRoute, scope: Scope) -> bool:
    return route.matches(scope)[0] is not Match.NONE
