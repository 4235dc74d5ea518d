"""What can go wrong between a client and Brain. Above: `connection`, `aio`."""

from typing import Any


class BrainError(Exception):
    """Brain answered that it won't. `problem` is its problem document, `status` the HTTP status.

    The document is empty where something else answered in Brain's place.
    """

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status = status
        self.problem = problem
        said = problem.get("detail") or problem.get("title") or f"HTTP status {status}"
        super().__init__(" ".join([str(said), *_details(problem.get("errors"))]))


class BrainUnavailable(Exception):
    """Brain can't be reached. Whether a request that was under way took effect isn't known."""


class BrainTimeout(BrainUnavailable):
    """Brain didn't answer in time."""


class TurnFailed(Exception):
    """A turn ended without an answer. `code` says how, as in `turn.failed`, or is `interrupted`."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


def _details(errors: Any) -> list[str]:
    try:
        return [f"{each['pointer']}: {each['detail']}" for each in errors or ()]
    except (TypeError, KeyError):  # another server's problem
        return []
