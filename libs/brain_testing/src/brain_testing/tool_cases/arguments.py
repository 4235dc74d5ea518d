"""Arguments: the model's text, validated as it is and passed on as it is (TOOL-02, TOOL-04)."""

from typing import Any

from brain_testing.raw_script import answers, ok
from brain_testing.tool_cases.case import Case, Expect, gives, refused, text

_SERVICE = answers(ok())


def _takes(name: str, arguments: str, received: str, schema: Any = None) -> Case:
    expect = gives(text("ok"), arguments=received)
    return _case(name, arguments, expect, schema, "TOOL-02", "TOOL-04")


def _refuses(name: str, arguments: str, says: str, schema: Any = None) -> Case:
    return _case(name, arguments, refused(says), schema, "TOOL-02", "OUT-02", "OUT-08")


def _case(name: str, arguments: str, expect: Expect, schema: Any, *proves: str) -> Case:
    binding = {} if schema is None else {"input_schema": schema}
    return Case(name, _SERVICE, expect, arguments, binding, proves)


def _properties(**schemas: Any) -> dict[str, Any]:
    return {"type": "object", "properties": schemas}


def _format(name: str) -> dict[str, Any]:
    return _properties(v={"type": "string", "format": name})


_TREE = {
    "type": "object",
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"left": {"$ref": "#/$defs/node"}, "leaf": {"type": "integer"}},
            "additionalProperties": False,
        }
    },
}

_ACCEPTED = (
    _takes("an empty object is an object", "{}", "{}"),
    _takes("white space is left out", ' { "a" :\n[ 1 , 2 ] } ', '{"a":[1,2]}'),
    _takes("white space within strings is kept", '{"a":"x  y\\n"}', '{"a":"x  y\\n"}'),
    _takes("keys keep their order", '{"b":1,"a":2}', '{"b":1,"a":2}'),
    _takes("a 20-digit integer keeps its digits", '{"n":12345678901234567890}',
           '{"n":12345678901234567890}', _properties(n={"type": "integer"})),
    _takes("1.0 stays 1.0, and is an integer", '{"n":1.0}', '{"n":1.0}',
           _properties(n={"type": "integer"})),
    _takes("1 stays 1", '{"n":1}', '{"n":1}', _properties(n={"type": "number"})),
    _takes("an exponent stays as it was written", '{"n":1E+2}', '{"n":1E+2}'),
    _takes("more digits than a double holds are kept", '{"n":0.12345678901234567890123}',
           '{"n":0.12345678901234567890123}'),
    _takes("a minus zero stays one", '{"n":-0.0}', '{"n":-0.0}'),
    _takes("escapes stay escapes", '{"s":"\\u0041\\/"}', '{"s":"\\u0041\\/"}'),
    _takes("an escaped pair of surrogates is one character", '{"s":"\\ud83d\\ude00"}',
           '{"s":"\\ud83d\\ude00"}', _properties(s={"maxLength": 1})),
    _takes("other scripts stay as they are", '{"s":"çé漢😀"}', '{"s":"çé漢😀"}'),
    _takes("an escaped NUL is a character", '{"s":"\\u0000"}', '{"s":"\\u0000"}'),
    _takes("the same key in two objects is no repetition", '{"a":{"k":1},"b":{"k":1}}',
           '{"a":{"k":1},"b":{"k":1}}'),
    _takes("a key that only looks repeated is fine", '{"a\\u003a":1,"a":2}',
           '{"a\\u003a":1,"a":2}'),
    _takes("99 levels within the object are fine", '{"a":' + "[" * 99 + "]" * 99 + "}",
           '{"a":' + "[" * 99 + "]" * 99 + "}"),
    _takes("a very wide object is fine", _wide := "{" + ",".join(
        f'"k{n}":{n}' for n in range(5000)) + "}", _wide),
    _takes("large arguments arrive whole", _large := '{"s":"' + "x" * 300_000 + '"}', _large),
    _takes("a schema may refer to itself", '{"left":{"left":{"leaf":1}}}',
           '{"left":{"left":{"leaf":1}}}', _TREE),
    _takes("ids in the arguments are the model's own affair", '{"tenant_id":"other"}',
           '{"tenant_id":"other"}'),
)  # fmt: skip

_REFUSED = (
    _refuses("nothing is not JSON", "", "not JSON"),
    _refuses("text is not JSON", "hello", "not JSON"),
    _refuses("an unfinished object is not JSON", '{"a":1', "not JSON"),
    _refuses("two values are not JSON", "{} {}", "trailing characters"),
    _refuses("single quotes are not JSON", "{'a':1}", "not JSON"),
    _refuses("a trailing comma is not JSON", '{"a":1,}', "not JSON"),
    _refuses("a comment is not JSON", '{"a":1 /* one */}', "not JSON"),
    _refuses("NaN is not JSON", '{"a":NaN}', "not JSON"),
    _refuses("Infinity is not JSON", '{"a":-Infinity}', "not JSON"),
    _refuses("a leading zero is not JSON", '{"a":01}', "not JSON"),
    _refuses("a raw control character is not JSON", '{"a":"\x01"}', "not JSON"),
    _refuses("a lone surrogate is no character", '{"a":"\\ud800"}', "not JSON"),
    _refuses("a number that no double holds is refused", '{"a":1e999}', "out of range"),
    _refuses("a key that is repeated is refused", '{"a":1,"b":2,"a":3}',
             'the key "a" occurs twice'),
    _refuses("a repetition is found under an escape", '{"a":1,"\\u0061":2}',
             'the key "a" occurs twice'),
    _refuses("a repetition is found at any depth", '{"x":[{"a":{"k":1,"k":1}}]}',
             'the key "k" occurs twice'),
    _refuses("a repetition is found beside an escaped colon", '{"a":"\\u003a","b":1,"b":2}',
             'the key "b" occurs twice'),
    _refuses("101 levels are too deep", '{"a":' + "[" * 100 + "]" * 100 + "}", "100 levels"),
    _refuses("10,000 levels are too deep", '{"a":' * 10_000 + "1" + "}" * 10_000, "100 levels"),
    _refuses("an array is not an object", "[]", "must be a JSON object"),
    _refuses("a string is not an object", '"{}"', "must be a JSON object"),
    _refuses("null is not an object", "null", "must be a JSON object"),
    _refuses("a number in quotes is not a number", '{"n":"42"}', "/n: ",
             _properties(n={"type": "number"})),
    _refuses("a number is not a string", '{"s":42}', "/s: ", _properties(s={"type": "string"})),
    _refuses("1 is not true", '{"b":1}', "/b: ", _properties(b={"type": "boolean"})),
    _refuses("1.5 is not an integer", '{"n":1.5}', "/n: ", _properties(n={"type": "integer"})),
    _refuses("null is not absent", '{"s":null}', "/s: ", _properties(s={"type": "string"})),
    _refuses("what is missing is named", "{}", '"q" is a required property',
             {"type": "object", "required": ["q"]}),
    _refuses("what is not asked for is named", '{"x":1}', "'x' was unexpected",
             {**_properties(y=True), "additionalProperties": False}),
    _refuses("where nothing may be, that is said", '{"x":1}', "(root): no properties are allowed",
             {"type": "object", "additionalProperties": False}),
    _refuses("every problem is named at once", '{"a":"1","b":"2"}', "/b: ",
             _properties(a={"type": "number"}, b={"type": "number"})),
    _refuses("a pointer escapes its parts", '{"a/b~c":"1"}', "/a~1b~0c: ",
             _properties(**{"a/b~c": {"type": "number"}})),
    _refuses("a huge integer is compared exactly", '{"n":9007199254740993}', "/n: ",
             _properties(n={"maximum": 9007199254740992})),
    _refuses("a recursive schema is checked to its leaves", '{"left":{"left":{"leaf":"x"}}}',
             "/left/left/leaf: ", _TREE),
    _refuses("a date that isn't one is refused", '{"v":"2026-02-30"}', "/v: ", _format("date")),
    _refuses("a date-time without a zone is refused", '{"v":"2026-02-03T10:00:00"}', "/v: ",
             _format("date-time")),
    _refuses("an email without a domain is refused", '{"v":"me@"}', "/v: ", _format("email")),
    _refuses("a uri without a scheme is refused", '{"v":"//x"}', "/v: ", _format("uri")),
    _refuses("an ipv4 address has four parts", '{"v":"1.2.3"}', "/v: ", _format("ipv4")),
    _refuses("a uuid has five parts", '{"v":"0-0-0"}', "/v: ", _format("uuid")),
    _refuses("a regex must compile", '{"v":"("}', "/v: ", _format("regex")),
    _refuses("a pattern that takes exponential time is only slow to lose",
             '{"v":"' + "a" * 50 + '!"}', "/v: ", _properties(v={"pattern": "^(?=a)((a+)+)+$"})),
)  # fmt: skip

ARGUMENT_CASES = (*_ACCEPTED, *_REFUSED)
