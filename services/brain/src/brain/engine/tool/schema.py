"""JSON Schemas, compiled once. Above: `catalog`, `arguments`. Below: jsonschema-rs.

Nothing is ever fetched: a `$ref` that leaves the document doesn't compile. `format` is asserted.
Patterns run in linear time where they can; the few that look around or back run with a bound on
their backtracking.
"""

from itertools import islice
from typing import Any

import jsonschema_rs
from jsonschema_rs import (
    FancyRegexOptions,
    ReferencingError,
    RegexOptions,
    ValidationError,
    Validator,
)

from brain.engine.tool.schema_weight import UNBOUNDED, weigh
from brain.engine.tool.strict_json import Document, NotJson, read

MAX_PROBLEMS = 5
_ALL_PROBLEMS_BYTES = 2048
"""Of a document. The validator collects every problem before it names one, which takes long."""

_MAX_MESSAGE = 300
_NOTHING_ALLOWED: dict[str | int, str] = {
    "additionalProperties": "no properties are allowed",
    "items": "no items are allowed",
}
_BACKTRACKS = 100_000


class BadSchema(ValueError):
    """A schema that can't be used. The message says why."""


class Schema:
    """A compiled schema."""

    def __init__(self, text: bytes) -> None:
        """Compile the JSON of a schema. Raises `BadSchema`."""
        document = read(text)
        if isinstance(document, NotJson):
            raise BadSchema(f"not JSON: {document.reason}")
        self._validator, linear = _compile(document.value)
        self.weight = weigh(document.value) if linear else UNBOUNDED

    def problems(self, document: Document) -> tuple[str, ...]:
        """What is wrong with a value: for each problem a JSON pointer and what was expected."""
        value = document.value
        if self._validator.is_valid(value):
            return ()
        if len(bytes(document.compact)) > _ALL_PROBLEMS_BYTES:
            return tuple(_message(error) for error in _first(self._validator, value))
        return tuple(map(_message, islice(self._validator.iter_errors(value), MAX_PROBLEMS)))


def _first(validator: Validator, value: Any) -> tuple[ValidationError, ...]:
    try:
        validator.validate(value)
    except ValidationError as error:
        return (error,)
    return ()


def _message(error: ValidationError) -> str:
    message = error.message
    if error.kind.name == "falseSchema":
        keyword = error.schema_path[-1] if error.schema_path else ""
        message = _NOTHING_ALLOWED.get(keyword, "nothing is allowed here")
    if len(message) > _MAX_MESSAGE:
        message = message[:_MAX_MESSAGE] + "…"
    return f"{json_pointer(error.instance_path)}: {message}"


def json_pointer(path: list[str | int]) -> str:
    """RFC 6901; the whole document is `(root)`, since an empty word is easily overlooked."""
    if not path:
        return "(root)"
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _compile(schema: Any) -> tuple[Validator, bool]:
    """The validator, and whether all its patterns run in linear time."""
    if not isinstance(schema, dict | bool):
        raise BadSchema("neither an object nor a boolean")
    try:
        return _validator(schema, RegexOptions()), True
    except (ValidationError, ReferencingError, ValueError):
        pass
    try:
        return _validator(schema, FancyRegexOptions(backtrack_limit=_BACKTRACKS)), False
    except ValidationError as error:
        raise BadSchema(error.message) from None
    except (ReferencingError, ValueError) as error:
        raise BadSchema(str(error)) from None


def _validator(schema: Any, patterns: RegexOptions | FancyRegexOptions) -> Validator:
    return jsonschema_rs.validator_for(
        schema, validate_formats=True, pattern_options=patterns, offline=True
    )
