"""What is wrong with the file's shape, in Brain's words rather than pydantic's. Above: `check`."""

import difflib
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from brain.config.bindings import ToolBinding
from brain.config.host import (
    EngineConfig,
    EngineTlsConfig,
    HostConfig,
    LongModelPrices,
    ModelConfig,
    ModelPrices,
    NamedModel,
    TenantConfig,
)
from brain.config.problem import Problem, as_object, listed, pointer

_LONGEST_NUMBER = 24
_KINDS = {
    "missing": "is required",
    "too_short": "must not be empty",
    "string_too_short": "must not be empty",
    "string_type": "must be a string",
    "int_type": "must be an integer, for example 300",
    "int_from_float": "must be an integer, without a fraction",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
}
_MODELS: dict[tuple[str, ...], type[BaseModel]] = {
    (): HostConfig,
    ("engine",): EngineConfig,
    ("engine", "tls"): EngineTlsConfig,
    ("tenants",): TenantConfig,
    ("models",): ModelConfig,
    ("models", "models", "*"): NamedModel,
    ("models", "models", "*", "prices"): ModelPrices,
    ("models", "models", "*", "long_prices"): LongModelPrices,
    ("tools",): ToolBinding,
}
"""The objects of the file by where they stand, without the places in lists."""


def validate(document: object) -> HostConfig | tuple[Problem, ...]:
    """The config, or all that is wrong with its shape."""
    if as_object(document) is None:
        return (Problem("", 'the file must hold one JSON object, for example {"tools": []}.'),)
    try:
        return HostConfig.model_validate(document)
    except ValidationError as error:
        return tuple(_problems(error))


def _problems(error: ValidationError) -> Iterator[Problem]:
    seen: set[str] = set()
    for detail in error.errors(include_url=False, include_context=True):
        where = pointer(*_location(detail))
        if where not in seen:  # a union complains once for each of its members
            seen.add(where)
            yield Problem(where, _sentence(detail))


def _location(detail: ErrorDetails) -> list[str | int]:
    """The error's place in the document, without pydantic's names for members of a union."""
    return [
        part
        for part in detail["loc"]
        if isinstance(part, int) or not part.startswith(("dict[", "bool", "function-", "[key]"))
    ]


def _sentence(detail: ErrorDetails) -> str:
    kind = detail["type"]
    context: dict[str, Any] = detail.get("ctx", {})
    if kind == "extra_forbidden":
        return _unknown(detail["loc"])
    if kind == "value_error":
        return f"{context['error']}."
    if kind == "literal_error":
        return f"must be {context['expected']}."
    if kind in ("greater_than_equal", "less_than_equal", "greater_than"):
        return _range(detail)
    return _KINDS.get(kind, "is not valid") + "."


def _range(detail: ErrorDetails) -> str:
    field = str(next(reversed(detail["loc"])))
    limits = {
        "timeout_seconds": "an integer from 1 to 86400",
        "max_output_bytes": "an integer from 1 to 2097152",
        "shutdown_grace_seconds": "from 0 to 3600",
        "retention_days": "an integer from 1 to 36500",
        "idle_timeout_seconds": "more than 0 and at most 3600",
    }
    usual = "0 or more" if detail["type"] == "greater_than_equal" else "more than 0"
    return f"must be {limits.get(field, usual)}, not {_shown(detail['input'])}."


def _shown(number: object) -> str:
    text = str(number)
    return text if len(text) <= _LONGEST_NUMBER else f"{text[:_LONGEST_NUMBER]}…"


def _unknown(location: tuple[str | int, ...]) -> str:
    *place, name = location
    known = list(_object_at([part for part in place if isinstance(part, str)]).model_fields)
    close = difflib.get_close_matches(str(name), known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"known are {listed(sorted(known))}."
    return f"is not a known field; {hint}"


def _object_at(place: list[str]) -> type[BaseModel]:
    if place[:2] == ["models", "models"] and len(place) > 2:
        place = [*place[:2], "*", *place[3:]]  # the model's own name
    return _MODELS.get(tuple(place), HostConfig)
