"""Structured content and the output schema (REPLY-04, REPLY-05)."""

from typing import Any

from brain_testing.raw_script import answers, event, ok, streams
from brain_testing.tool_cases.case import Case, Expect, fails, gives, text

_SCHEMA = {
    "type": "object",
    "properties": {"when": {"type": "string", "format": "date"}, "n": {"type": "integer"}},
    "required": ["n"],
}


def _case(name: str, body: Any, expect: Expect, schema: Any = None) -> Case:
    binding = {} if schema is None else {"output_schema": schema}
    return Case(name, answers(body), expect, binding=binding, proves=("REPLY-04", "REPLY-05"))


def _rendered(name: str, value: str, compact: str | None = None) -> Case:
    kept = compact or value
    body = '{"structured_content":' + value + "}"
    return _case(name, body, gives(text(kept), structured=kept))


def _bad(name: str, body: Any, says: str = "", schema: Any = _SCHEMA) -> Case:
    return _case(name, body, fails("bad_result", says), schema)


STRUCTURED_CASES = (
    _rendered("an object alone is rendered as text", '{"a": [1, "x"]}', '{"a":[1,"x"]}'),
    _rendered("null is a value", "null"),
    _rendered("false is a value", "false"),
    _rendered("zero is a value", "0"),
    _rendered("an empty string is a value", '""'),
    _rendered("an empty array is a value", "[]"),
    _case("an empty list of content counts as none", '{"content":[],"structured_content":{"a":1}}',
          gives(text('{"a":1}'), structured='{"a":1}')),
    _case("content and structured content are both kept", ok("hi", structured_content={"a": 1}),
          gives(text("hi"), structured='{"a":1}')),
    _case("a success may match the output schema", {"structured_content": {"n": 1}},
          gives(text('{"n":1}'), structured='{"n":1}'), _SCHEMA),
    _case("a schema that takes null takes null", {"structured_content": None},
          gives(text("null"), structured="null"), {"type": "null"}),
    _case("an error result bypasses the output schema", ok("no", is_error=True),
          Expect(is_error=True, content=text("no")), _SCHEMA),
    _case("an error's structured content bypasses it too",
          ok("no", is_error=True, structured_content="?"),
          Expect(is_error=True, content=text("no"), structured='"?"'), _SCHEMA),
    _bad("an error result keeps all other rules", ok("no", is_error=True, extra=1), "`extra`"),
    _bad("a success must have what the schema describes", ok(), "no structured content"),
    _bad("a success must match the output schema", {"structured_content": {}},
         '"n" is a required property'),
    _bad("the mismatch is named", {"structured_content": {"n": "1"}}, "/n: "),
    _bad("formats of the output schema are checked",
         {"structured_content": {"n": 1, "when": "today"}}, "/when: "),
    _bad("null is no object", {"structured_content": None}, "(root)"),
    _bad("nothing is coerced", {"structured_content": "1"}, "(root)", {"type": "integer"}),
    Case("a result from a stream must match as well",
         streams(event("result", {"structured_content": {"n": "1"}})), fails("bad_result", "/n: "),
         binding={"output_schema": _SCHEMA}, proves=("REPLY-04", "REPLY-06")),
)  # fmt: skip
