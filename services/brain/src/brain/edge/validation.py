"""From pydantic's errors to the pointers that a client sees.

Above: `body` and `query`. Below: `problems`.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from brain.edge.problems import Violation, invalid

_Model = TypeVar("_Model", bound=BaseModel)

TAG = "\N{INVISIBLE SEPARATOR}"
"""Begins the names of union branches, so that they can be told from the client's own keys."""

MAX_VIOLATIONS = 100
"""A body of 4 MiB can be wrong in a million places; nobody reads an answer that names them."""

_SENTENCES = {
    "missing": "This field is required.",
    "extra_forbidden": "There is no such field.",
    "dict_type": "This must be a JSON object.",
    "model_type": "This must be a JSON object.",
    "list_type": "This must be a list.",
    "string_type": "This must be text.",
    "bool_type": "This must be true or false.",
}


def validate(model: type[_Model], value: object, root: str = "") -> _Model:
    """`value` as `model`, or a 422 that names each wrong part below `root`."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise invalid(*_violations(error, root)) from None


def _violations(error: ValidationError, root: str) -> list[Violation]:
    if error.error_count() > MAX_VIOLATIONS:
        return [Violation(root, f"More than {MAX_VIOLATIONS} parts of this are wrong.")]
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return [_violation(item, root) for item in found]


def _violation(error: Any, root: str) -> Violation:
    return Violation(root + pointer(error["loc"]), _sentence(error["type"], error["msg"]))


def _sentence(kind: str, message: str) -> str:
    if kind in _SENTENCES:
        return _SENTENCES[kind]
    told = message.removeprefix("Value error, ").replace("Input should be", "This must be", 1)
    return told if told.endswith(".") else f"{told}."


def pointer(path: Sequence[str | int]) -> str:
    """`path` as an RFC 6901 JSON pointer."""
    steps = [str(step) for step in path if not (isinstance(step, str) and step.startswith(TAG))]
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)
