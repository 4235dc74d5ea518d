"""Which schemas may be validated where other sessions wait, and which may not."""

import json
import math
from typing import Any

import pytest

from brain.engine.tool.schema import BadSchema, Schema

pytestmark = pytest.mark.requirement("TOOL-02")


def weight(schema: Any) -> float:
    return Schema(json.dumps(schema).encode()).weight


def chain(length: int, times: int) -> dict[str, Any]:
    """Definitions of which each refers to the next so many times."""
    definitions = {
        f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * times} for n in range(length)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{length}": {"type": "object"}}}


def test_a_plain_schema_weighs_about_as_much_as_it_has_parts() -> None:
    assert weight({"type": "object"}) < 5
    properties = {f"p{n}": {"type": "string", "maxLength": 5} for n in range(100)}
    assert 100 < weight({"type": "object", "properties": properties}) < 1000


def test_references_count_each_time_they_are_followed() -> None:
    assert weight(chain(10, 1)) < 500
    assert weight(chain(10, 2)) > 2**10
    assert weight(chain(60, 2)) > 2**60


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "#"}}},
        {"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"},
        {"$defs": {"a": {"$anchor": "x", "items": {"$ref": "#x"}}}, "$ref": "#x"},
        {"$dynamicAnchor": "n", "items": {"$dynamicRef": "#n"}},
        {"$defs": {"a": {"$id": "http://x/y", "items": {"$ref": "#"}}}, "$ref": "http://x/y"},
        {"unevaluatedProperties": False},
        {"unevaluatedItems": False},
        {"items": {"format": "regex"}},
        {"pattern": "(?=a)b"},
        {"pattern": r"(a)\1"},
        {"patternProperties": {"(?!a)b": {}}},
    ],
)
def test_what_can_multiply_has_no_bound(schema: Any) -> None:
    assert weight(schema) == math.inf


def test_two_references_to_one_definition_are_no_loop() -> None:
    shared = {"$defs": {"s": {"type": "string"}}}
    assert (
        weight({**shared, "properties": {"a": {"$ref": "#/$defs/s"}, "b": {"$ref": "#/$defs/s"}}})
        < 20
    )


def test_a_reference_may_escape_its_parts() -> None:
    schema = {"$defs": {"a/b~c d": {"type": "string"}}, "$ref": "#/$defs/a~1b~0c%20d"}
    assert weight(schema) < 10


def test_a_reference_may_lead_into_a_list() -> None:
    assert weight({"allOf": [{"type": "object"}], "not": {"$ref": "#/allOf/0"}}) < 10


def test_patterns_weigh_what_they_repeat() -> None:
    assert weight({"pattern": "^[a-z]{1,64}$"}) > 64
    assert weight({"pattern": "^([a-z]{100}){1000}$"}) > 100_000


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ("[]", "neither an object nor a boolean"),
        ("{", "not JSON"),
        ('{"type":"objekt"}', "objekt"),
        ('{"$ref":"http://example.com/schema"}', "http://example.com/schema"),
        ('{"$ref":"file:///etc/passwd"}', "file:///etc/passwd"),
        ('{"$ref":"other.json"}', "other.json"),
        ('{"$ref":"#/$defs/missing"}', "missing"),
        ('{"pattern":"("}', "("),
        ('{"pattern":"((a{1000}){1000}){1000}"}', "a{1000}"),
        ('{"$schema":"http://example.com/mine"}', "http://example.com/mine"),
        ('{"minLength":1,"minLength":2}', "occurs twice"),
    ],
)
def test_a_schema_that_cannot_be_used_says_why(schema: str, says: str) -> None:
    with pytest.raises(BadSchema) as raised:
        Schema(schema.encode())
    assert says in str(raised.value)


@pytest.mark.parametrize("draft", ["2019-09", "draft-07", "draft-06", "draft-04"])
def test_older_drafts_are_understood(draft: str) -> None:
    uri = f"http://json-schema.org/{draft}/schema#"
    if draft == "2019-09":
        uri = "https://json-schema.org/draft/2019-09/schema"
    assert Schema(json.dumps({"$schema": uri, "type": "object"}).encode())
