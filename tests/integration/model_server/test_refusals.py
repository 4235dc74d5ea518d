"""What all providers refuse, and what they take."""

import pytest

from brain_testing.model_server import DIALECTS, Dialect, refusal
from brain_testing.model_server.valid_requests import VALID, Case, spoiled

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)
_NAMES = {
    "openai-chat": "tools.0.function.name",
    "openai-responses": "tools.0.name",
    "anthropic-messages": "tools.0.name",
}
_SCHEMAS = {
    "openai-chat": "tools.0.function.parameters",
    "openai-responses": "tools.0.parameters",
    "anthropic-messages": "tools.0.input_schema",
}


@every_dialect
def test_a_valid_request_is_taken(dialect: Dialect) -> None:
    assert refusal(dialect, VALID[dialect]) is None


@every_dialect
def test_what_is_not_json_or_no_object_is_refused(dialect: Dialect) -> None:
    assert "could not parse the JSON body" in (refusal(dialect, b'{"model":') or "")
    assert "object" in (refusal(dialect, b"[]") or "")


@every_dialect
def test_an_unknown_field_is_refused(dialect: Dialect) -> None:
    assert "unknown field `nonsense`" in spoiled(dialect, Case("nonsense", 1, ""))


@every_dialect
@pytest.mark.parametrize("name", ["", "has space", "dotted.name", "n" * 65])
def test_a_bad_tool_name_is_refused(dialect: Dialect, name: str) -> None:
    assert "does not match pattern" in spoiled(dialect, Case(_NAMES[dialect], name, ""))


@every_dialect
def test_two_tools_of_one_name_are_refused(dialect: Dialect) -> None:
    twice = VALID[dialect]["tools"] * 2
    assert "must be unique" in spoiled(dialect, Case("tools", twice, ""))


@every_dialect
@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({}, "must be a JSON Schema of 'type: \"object\"'"),
        ({"type": "string"}, "must be a JSON Schema of 'type: \"object\"'"),
        ({"type": "object", "anyOf": [{"required": ["a"]}]}, "must not have 'anyOf' at the top"),
        ({"type": "object", "required": "a"}, "JSON schema is invalid"),
        ({"type": "object", "properties": {"a": {"type": "array"}}}, "array schema missing items"),
    ],
)
def test_a_bad_schema_is_refused(dialect: Dialect, schema: object, says: str) -> None:
    assert says in spoiled(dialect, Case(_SCHEMAS[dialect], schema, ""))


@every_dialect
@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("data:image/tiff;base64,AAAA", "Unsupported image type 'image/tiff'"),
        ("data:image/png;base64,a!", "Invalid base64"),
        ("data:image/png;base64,R0lGODlhAQABAAAAACw=", "isn't one"),
    ],
)
def test_an_image_that_is_none_of_the_four_types_is_refused(
    dialect: Dialect, url: str, says: str
) -> None:
    media_type, _, data = url.removeprefix("data:").partition(";base64,")
    where, value = {
        "openai-chat": ("messages.1.content.1.image_url.url", url),
        "openai-responses": ("input.0.content.1.image_url", url),
        "anthropic-messages": (
            "messages.0.content.1.source",
            {"type": "base64", "media_type": media_type, "data": data},
        ),
    }[dialect]
    assert says in spoiled(dialect, Case(where, value, ""))


@every_dialect
def test_a_conversation_without_messages_is_refused(dialect: Dialect) -> None:
    where = "input" if dialect == "openai-responses" else "messages"
    assert spoiled(dialect, Case(where, [], ""))
