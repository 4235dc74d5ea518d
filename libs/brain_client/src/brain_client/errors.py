"""What can go wrong between a client and Brain. Above: `aio`."""

from typing import Any


class BrainError(Exception):
    """Brain answered that it won't. `problem` is its problem document, `status` the HTTP status."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status = status
        self.problem = problem
        details = [f"{each['pointer']}: {each['detail']}" for each in problem.get("errors", [])]
        said = problem.get("detail") or problem.get("title") or f"HTTP status {status}"
        super().__init__(" ".join([said, *details]))


class BrainUnavailable(Exception):
    """Brain can't be reached. Whether a request that was under way took effect isn't known."""
