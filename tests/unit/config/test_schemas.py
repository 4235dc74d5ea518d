"""Which schemas a tool may have: what the check accepts, the catalog can use."""

import json

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Raw

from brain.config.check import CheckedConfig
from brain.engine.tool.catalog import Binding, Catalog
from brain_testing.host_config import Checker, Json, accepted, pointers, tool


@pytest.mark.requirement("CONF-06")
@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "array"},
        {"type": ["object"]},
        {"type": "object", "required": "text"},
        {"type": "object", "properties": {"a": {"type": "text"}}},
        {"type": "object", "properties": {"a": {"pattern": "("}}},
        {"type": "object", "properties": {"a": {"$ref": "http://example.com/schema"}}},
        {"type": "object", "properties": {"a": {"$ref": "other.json#/x"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/missing"}}},
        {"type": "object", "properties": {"a": {"$dynamicRef": "https://example.com/s#a"}}},
        {"type": "object", "$id": "https://a.example/s", "not": {"$ref": "/elsewhere"}},
        {"type": "object", "$schema": "https://example.com/my-dialect"},
        [],
        "object",
        None,
    ],
)
def test_a_schema_that_can_not_be_used_is_refused(checked: Checker, schema: object) -> None:
    assert pointers(checked({"tools": [tool(input_schema=schema)]})) == ["/tools/0/input_schema"]


@pytest.mark.requirement("CONF-06")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": True}},
        {"type": "object", "properties": {"a": {"$ref": "#"}}},
        {
            "type": "object",
            "properties": {"a": {"$ref": "part"}},
            "$defs": {"p": {"$id": "part", "type": "string"}},
        },
        {"type": "object", "properties": {"a": {"const": {"$ref": "http://not.a/reference"}}}},
        {"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"},
    ],
)
def test_a_reference_within_the_document_is_fine(checked: Checker, schema: Json) -> None:
    accepted(checked({"tools": [tool(input_schema=schema)]}))


def nested(levels: int) -> str:
    """An input schema of so many levels of objects, as JSON."""
    return '{"type":"object","default":' + '{"a":' * (levels - 2) + "{}" + "}" * (levels - 1)


@pytest.mark.requirement("CONF-06")
@pytest.mark.parametrize(
    ("schema", "pointer", "says"),
    [
        (nested(101), "", "100 levels"),
        ('{"type":"object","title":"\\ud800"}', "/title", "surrogate"),
        ('{"type":"object","properties":{"\\udfff":{}}}', "/properties", "surrogate"),
        ('{"type":"object","default":1e999}', "/default", "out of range"),
    ],
)
def test_a_schema_that_is_no_plain_json_is_refused(
    checked: Checker, schema: str, pointer: str, says: str
) -> None:
    document = json.dumps({"tools": [tool(input_schema="here")]}).replace('"here"', schema)

    outcome = checked(document)

    assert pointers(outcome) == [f"/tools/0/input_schema{pointer}"]
    assert says in str(outcome)


@pytest.mark.requirement("CONF-06")
def test_a_schema_of_a_hundred_levels_is_fine(checked: Checker) -> None:
    accepted(checked({"tools": [tool(input_schema=json.loads(nested(100)))]}))


def names(inner: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, object]]:
    return st.dictionaries(st.sampled_from(["a", "$ref", "~/"]), inner)


schema_parts = st.recursive(
    st.booleans()
    | st.fixed_dictionaries({"type": st.sampled_from(["object", "string", "integer", "text"])})
    | st.fixed_dictionaries({"pattern": st.sampled_from(["^a+$", "(?=a)b", "(", "\\p{L}"])})
    | st.fixed_dictionaries({"$ref": st.sampled_from(["#", "#/$defs/a", "#a", "b", "http://x/"])})
    | st.fixed_dictionaries(
        {"$anchor": st.just("a"), "$id": st.sampled_from(["b", "", "http://["])}
    )
    | st.fixed_dictionaries({"format": st.sampled_from(["email", "unknown"])})
    | st.fixed_dictionaries({"const": st.text(max_size=2) | st.floats(allow_nan=False)}),
    lambda inner: st.fixed_dictionaries(
        {}, optional={"not": inner, "allOf": st.lists(inner), "properties": names(inner)}
    ),
    max_leaves=6,
)


@pytest.mark.requirement("CONF-06")
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(parts=st.dictionaries(st.sampled_from(["a", "b"]), schema_parts))
def test_what_the_check_accepts_the_catalog_can_use(checked: Checker, parts: Json) -> None:
    schema = {"type": "object", "properties": parts, "$defs": parts}

    outcome = checked({"tools": [tool(input_schema=schema, output_schema=schema)]})

    if isinstance(outcome, CheckedConfig):
        written = Raw(msgspec.json.encode(outcome.host.tools[0].input_schema))
        Catalog([Binding("echo", "Echo.", written, "http://x", frozenset({"local"}))])
