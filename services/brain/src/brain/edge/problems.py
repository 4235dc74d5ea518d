"""Problem documents (RFC 9457): every error answer of the edge is one.

Above: `errors`, which makes one of each thing that can go wrong. Below: nothing. The kinds that
have a `type` of their own are in docs/reference/problems.md.
"""

from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from msgspec import UNSET, Struct, UnsetType
from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_SECONDS = 1


class Violation(Struct, frozen=True):
    """One thing that is wrong with a request, and where: `/config/tools/0`, `/query/limit`."""

    pointer: str
    detail: str


class Problem(Struct, frozen=True):
    """What went wrong, as the client is told. `errors` names each part that is wrong."""

    type: str
    title: str
    status: int
    detail: str
    errors: tuple[Violation, ...] | UnsetType = UNSET


class ProblemError(Exception):
    """Ends a request with a problem; `headers` go with the answer."""

    def __init__(self, problem: Problem, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(problem.detail)
        self.problem = problem
        self.headers = headers


class _Kind(Struct, frozen=True):
    slug: str
    title: str


_KINDS = {
    "session_closed": _Kind("session-closed", "The session is closed"),
    "message_not_queued": _Kind("message-not-queued", "The message does not wait"),
    "turn_running": _Kind("turn-running", "A turn is running"),
    "nothing_to_compact": _Kind("nothing-to-compact", "There is nothing to compact"),
    "compaction_failed": _Kind("compaction-failed", "The conversation was not compacted"),
    "idempotency_key_reused": _Kind("idempotency-key-reused", "The key stands for another request"),
    "session_deleted": _Kind("session-deleted", "The session was deleted"),
    "engine_unavailable": _Kind("engine-unavailable", "The engine cannot be reached"),
}
"""The codes that a client can tell apart by `type`."""


def problem(
    status: int, detail: str, *, code: str = "", errors: tuple[Violation, ...] = ()
) -> Problem:
    """A problem; a `code` that isn't documented gives `about:blank`."""
    kind = _KINDS.get(code)
    return Problem(
        type=f"/problems/{kind.slug}" if kind else "about:blank",
        title=kind.title if kind else HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        errors=errors or UNSET,
    )


def unauthorized() -> ProblemError:
    """No key, a wrong key, or an inspection token whose call has returned."""
    detail = "Send a valid key as `Authorization: Bearer KEY`."
    return ProblemError(problem(401, detail), {"WWW-Authenticate": "Bearer"})


def forbidden() -> ProblemError:
    """An inspection token was used for more than it is for."""
    return ProblemError(problem(403, "An inspection token only reads its own session."))


def not_found(code: str = "", detail: str | None = None) -> ProblemError:
    """Not there, or another tenant's: nobody can tell which, unless the `code` is documented."""
    told = detail if detail and code in _KINDS else "There is nothing here."
    return ProblemError(problem(404, told, code=code))


def unavailable() -> ProblemError:
    """The engine is away. What was asked for may have happened."""
    detail = "The engine can't be reached now. Try again shortly."
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
    return ProblemError(problem(503, detail, code="engine_unavailable"), headers)


def too_much() -> ProblemError:
    """The engine has more to do than it can take on."""
    detail = "Too much is being asked at once. Try again shortly."
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
    return ProblemError(problem(429, detail), headers)


def invalid(*violations: Violation) -> ProblemError:
    """The request was understood and is wrong in these places."""
    detail = "The request is not valid; see `errors`."
    return ProblemError(problem(422, detail, errors=violations))


class ProblemResponse(Response):
    """A problem on its way out."""

    def __init__(self, error: ProblemError) -> None:
        super().__init__(
            msgspec.json.encode(error.problem),
            error.problem.status,
            error.headers,
            MEDIA_TYPE,
        )
