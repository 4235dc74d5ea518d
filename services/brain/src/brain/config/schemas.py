"""Whether a tool's schema is one that Brain can use. Above: `bindings`. Below: jsonschema-rs.

Nothing is ever fetched: a `$ref` must lead to a place in the document itself.
"""

from collections.abc import Iterator
from typing import Any, NoReturn
from urllib.parse import urldefrag, urljoin

import jsonschema_rs

from brain.config.problem import as_list, as_object

_DRAFTS = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-04/schema",
)
_DRAFT_2020_12 = _DRAFTS[0]
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_DATA = ("const", "enum", "default", "examples")
_BASE = "brain:schema"
MAX_DEPTH = 100
"""Of objects and arrays in each other: deeper ones are refused wherever Brain reads JSON."""


def check_schema(schema: Any, kind: str | None = None) -> Any:
    """The schema, if it can be used. With a `kind`, its `type` must be that.

    Raises: ValueError, with a sentence on what is wrong and where in the schema.
    """
    _check_depth(schema)
    document = as_object(schema)
    if document is not None:
        _check_draft(document)
        _check_references(document)
        if kind is not None and document.get("type") != kind:
            raise ValueError(f'must have "type": "{kind}", since arguments are always an {kind}')
    _check_compiles(schema)
    return schema


def _check_depth(schema: Any) -> None:
    level = [schema]
    for _ in range(MAX_DEPTH):
        parts = [part for value in level for part in _parts(value)]
        level = [part for part in parts if type(part) in (dict, list)]
        if not level:
            return
    raise ValueError(f"is nested more than {MAX_DEPTH} levels deep")


def _parts(value: object) -> list[Any]:
    members = as_object(value)
    return as_list(value) if members is None else list(members.values())


def _check_draft(schema: dict[str, Any]) -> None:
    draft = schema.get("$schema", _DRAFT_2020_12)
    if not isinstance(draft, str) or draft.rstrip("#") not in _DRAFTS:
        raise ValueError(f"has an unknown $schema; known are {', '.join(_DRAFTS)}")


def _check_references(schema: dict[str, Any]) -> None:
    resources = {resource for resource, _ in _bases(schema, _BASE)} | {_BASE}
    for base, found in _bases(schema, _BASE):
        for keyword in _REFERENCES:
            target = found.get(keyword)
            if isinstance(target, str) and urldefrag(_resolve(base, target)).url not in resources:
                raise ValueError(
                    f"has a {keyword} that leaves the document ({target!r}): nothing is fetched, "
                    "so copy what it refers to into $defs"
                )


def _bases(node: object, base: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of the schema with the base URI that holds there."""
    found = as_object(node)
    if found is None:
        for value in as_list(node):
            yield from _bases(value, base)
        return
    ident = found.get("$id")
    if isinstance(ident, str):
        base = urldefrag(_resolve(base, ident)).url
    yield base, found
    for key, value in found.items():
        if key not in _DATA:
            yield from _bases(value, base)


def _resolve(base: str, reference: str) -> str:
    if reference.startswith("#") or not reference:
        return base + reference
    try:
        return urljoin(base, reference)
    except ValueError:
        return reference


def _check_compiles(schema: Any) -> None:
    try:
        jsonschema_rs.meta.validate(schema)
        jsonschema_rs.validator_for(schema, validate_formats=True, retriever=_never_fetch)
    except jsonschema_rs.ValidationError as error:
        path = "".join(f"/{part}" for part in error.instance_path)
        where = f" at {path}" if path else ""
        raise ValueError(f"isn't a valid JSON Schema{where}: {error.message}") from None
    except (jsonschema_rs.ReferencingError, ValueError, RecursionError) as error:
        raise ValueError(f"isn't a usable JSON Schema: {error}") from None


def _never_fetch(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is outside the document")
