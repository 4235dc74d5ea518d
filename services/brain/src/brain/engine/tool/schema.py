"""JSON Schemas, compiled once. Above: `catalog`, `arguments`. Below: jsonschema-rs.

Nothing is ever fetched: a `$ref` that leaves the document doesn't compile. `format` is asserted.
Patterns run in linear time where they can; the few that look around or back run with a bound on
their backtracking.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import jsonschema_rs
import msgspec
from jsonschema_rs import FancyRegexOptions, RegexOptions, ValidationError, Validator

from brain.engine.tool.strict_json import NotJson, read

MAX_PROBLEMS = 5
_MAX_MESSAGE = 300
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
        self._validator = _compile(document.value)

    def problems(self, value: Any) -> tuple[str, ...]:
        """What is wrong with `value`: for each problem a JSON pointer and what was expected."""
        if self._validator.is_valid(value):
            return ()
        return tuple(islice(self._messages(value), MAX_PROBLEMS))

    def _messages(self, value: Any) -> Iterator[str]:
        for error in self._validator.iter_errors(value):
            message = error.message
            if len(message) > _MAX_MESSAGE:
                message = message[:_MAX_MESSAGE] + "…"
            yield f"{json_pointer(error.instance_path)}: {message}"


def json_pointer(path: list[str | int]) -> str:
    """RFC 6901; the whole document is `(root)`, since an empty word is easily overlooked."""
    if not path:
        return "(root)"
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _compile(schema: Any) -> Validator:
    if not isinstance(schema, dict | bool):
        raise BadSchema("neither an object nor a boolean")
    try:
        return _validator(schema, RegexOptions())
    except ValidationError:
        pass
    try:
        return _validator(schema, FancyRegexOptions(backtrack_limit=_BACKTRACKS))
    except ValidationError as error:
        raise BadSchema(error.message) from None


def _validator(schema: Any, patterns: RegexOptions | FancyRegexOptions) -> Validator:
    return jsonschema_rs.validator_for(
        schema, validate_formats=True, pattern_options=patterns, offline=True
    )


def check_output(schema: Schema | None, structured: msgspec.Raw | msgspec.UnsetType) -> str | None:
    """What is wrong with the structured content of a successful result, if anything."""
    if schema is None:
        return None
    if isinstance(structured, msgspec.UnsetType):
        return "It has no structured content, which the tool's output schema asks for."
    problems = schema.problems(msgspec.json.decode(structured))
    if not problems:
        return None
    return "Its structured content does not match the tool's output schema: " + "; ".join(problems)
