"""What every provider demands of a tool. Above: the three validators. Below: jsonschema-rs."""

import re
from collections.abc import Iterable, Iterator

import jsonschema_rs

from brain_testing.model_server.strict import Json, doubled

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NOT_AT_THE_TOP = ("oneOf", "anyOf", "allOf", "enum", "not")
_MAPS = ("properties", "$defs", "definitions", "patternProperties")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLES = ("items", "additionalProperties", "not")


def is_name(name: str) -> bool:
    """Whether a tool or a call may have this name."""
    return _NAME.fullmatch(name) is not None


def tool_problems(tools: Iterable[tuple[str, Json | None]]) -> Iterator[str]:
    """What is wrong with tools, each a name and a schema of its arguments."""
    listed = list(tools)
    for place, (name, schema) in enumerate(listed):
        if not is_name(name):
            yield (
                f"Invalid 'tools[{place}].name': string does not match pattern. Expected a string"
                f" that matches the pattern '^[a-zA-Z0-9_-]{{1,64}}$'."
            )
        if schema is not None:
            for problem in _schema_problems(schema):
                yield f"Invalid schema for function '{name}': {problem}"
    for name in doubled(name for name, _ in listed):
        yield f"tools: Tool names must be unique: '{name}'."


def _schema_problems(schema: Json) -> Iterator[str]:
    if schema.get("type") != "object":
        yield f"schema must be a JSON Schema of 'type: \"object\"', got {schema.get('type')!r}."
    for word in _NOT_AT_THE_TOP:
        if word in schema:
            yield f"schema must not have '{word}' at the top level."
    if not jsonschema_rs.meta.is_valid(schema):
        yield "JSON schema is invalid. It must match JSON Schema draft 2020-12."
    elif any(_array_without_items(each) for each in _within(schema)):
        yield "array schema missing items."


def _array_without_items(schema: Json) -> bool:
    return schema.get("type") == "array" and not {"items", "prefixItems"} & schema.keys()


def _within(schema: Json) -> Iterator[Json]:
    """A schema and all schemas in it but for `true` and `false`."""
    yield schema
    parts = [part for word in _MAPS for part in schema.get(word, {}).values()]
    parts += [part for word in _LISTS for part in schema.get(word, ())]
    parts += [schema[word] for word in _SINGLES if word in schema]
    for part in parts:
        if not isinstance(part, bool):
            yield from _within(part)
