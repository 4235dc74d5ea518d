"""The operators' HTTP API. Above: the page, `client`, anyone with a key. Below: `desk`."""

from collections.abc import Callable
from typing import Annotated, TypeVar, get_args

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from local_tools.approvals import page, stream
from local_tools.approvals.desk import Desk
from local_tools.approvals.feed import Feed
from local_tools.approvals.guard import Guard
from local_tools.approvals.problem import Refused, answers, with_problems
from local_tools.approvals.record import Answer, Approval, Status
from local_tools.approvals.store import Store
from local_tools.clock import Clock, rfc3339

_MAX_BODY = 16 * 1024
_LIMIT, _MOST = 100, 1000
S = TypeVar("S", bound=Struct)


class _Decision(Struct, frozen=True, forbid_unknown_fields=True):
    answer: Answer
    comment: Annotated[str, Meta(max_length=2000)] | None = None


class _Key(Struct, frozen=True, forbid_unknown_fields=True):
    key: Annotated[str, Meta(max_length=1000)]


class Inbox(Struct, frozen=True):
    """All that the routes stand on."""

    desk: Desk
    store: Store
    feed: Feed
    guard: Guard
    clock: Clock


def routes(inbox: Callable[[], Inbox]) -> list[BaseRoute]:
    """The routes. `inbox` gives what is open, while the service runs."""
    api = _Api(inbox)
    table = (
        ("/approvals", api.list, "GET"),
        ("/approvals/events", api.events, "GET"),
        ("/approvals/log", api.log, "GET"),
        ("/approvals/{call_id:path}", api.answer, "POST"),
        ("/sign-in", api.sign_in, "POST"),
        ("/sign-out", api.sign_out, "POST"),
    )
    ours = [Route(path, with_problems(handler), methods=[verb]) for path, handler, verb in table]
    return [*page.routes(), *ours]


class _Api:
    def __init__(self, inbox: Callable[[], Inbox]) -> None:
        self._inbox = inbox

    async def list(self, request: Request) -> Response:
        inbox = self._inbox()
        inbox.guard.reader(request)
        found = inbox.store.listed(_status(request), _number(request, "limit", _LIMIT, 1, _MOST))
        return answers({"approvals": found})

    async def events(self, request: Request) -> Response:
        inbox = self._inbox()
        operator = inbox.guard.reader(request)

        def still() -> bool:
            try:
                return inbox.guard.reader(request) == operator
            except Refused:
                return False

        def now() -> str:
            return rfc3339(inbox.clock.now())

        def everything() -> object:
            return {"operator": operator, "now": now(), "approvals": inbox.store.listed()}

        return stream.live(inbox.feed, everything, still, now)

    async def log(self, request: Request) -> Response:
        inbox = self._inbox()
        inbox.guard.reader(request)
        after = _number(request, "after", 0, 0, 2**53)
        limit = _number(request, "limit", _MOST, 1, _MOST)
        entries = inbox.store.log(after, limit + 1)
        shown = entries[:limit]
        next_after = shown[-1].entry if shown else after
        more = len(entries) > limit
        return answers({"entries": shown, "next_after": next_after, "has_more": more})

    async def answer(self, request: Request) -> Response:
        inbox = self._inbox()
        operator = inbox.guard.writer(request)
        decision = await _body(request, _Decision)
        comment = (decision.comment or "").strip() or None
        call_id = request.path_params["call_id"]
        verdict = inbox.desk.answer(call_id, operator, decision.answer, comment)
        if verdict.approval is None:
            raise Refused(404, "There is no such request.")
        if not verdict.taken:
            raise Refused(409, _already(verdict.approval), approval=verdict.approval)
        return answers({"approval": verdict.approval})

    async def sign_in(self, request: Request) -> Response:
        given = await _body(request, _Key)
        answer = answers(None)
        name = self._inbox().guard.sign_in(request, given.key.strip(), answer)
        answer.body = msgspec.json.encode({"operator": name})
        answer.headers["Content-Length"] = str(len(answer.body))
        return answer

    async def sign_out(self, request: Request) -> Response:
        answer = Response(status_code=204)
        self._inbox().guard.sign_out(request, answer)
        return answer


def _already(approval: Approval) -> str:
    if approval.decided_by is not None:
        return f"{approval.decided_by} answered {approval.status} at {approval.decided_at}."
    if approval.status == "expired":
        return f"It expired at {approval.expires_at}, which counts as no."
    return f"It was withdrawn at {approval.decided_at}: nobody waits for an answer any more."


async def _body(request: Request, kind: type[S]) -> S:
    """The body. Raises: Refused."""
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
        raise Refused(415, "The body must be application/json.")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_BODY:
            raise Refused(413, f"The body has more than {_MAX_BODY} bytes.")
    try:
        return msgspec.json.decode(bytes(body), type=kind)
    except msgspec.ValidationError as error:
        raise Refused(422, f"{error}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(400, f"The body isn't JSON: {error}.") from error


def _status(request: Request) -> Status | None:
    try:
        return msgspec.convert(request.query_params.get("status"), Status | None)
    except msgspec.ValidationError:
        raise Refused(422, f"status must be one of {', '.join(get_args(Status))}.") from None


def _number(request: Request, name: str, default: int, least: int, most: int) -> int:
    given = request.query_params.get(name, str(default))
    if not (given.isascii() and given.isdecimal() and len(given) < 18):
        raise Refused(422, f"{name} must be a number.")
    if not least <= int(given) <= most:
        raise Refused(422, f"{name} must be from {least} to {most}.")
    return int(given)
