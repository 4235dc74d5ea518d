"""The text of a JSON reply, before it is looked at as a result (REPLY-01, REPLY-10)."""

from brain_testing.raw_script import answers, as_bytes, ok
from brain_testing.tool_cases.case import Case, Expect, fails, gives, text

_BOM = b"\xef\xbb\xbf"
_WORKS = gives(text("ok"))


def _case(name: str, body: bytes | str, expect: Expect) -> Case:
    return Case(name, answers(as_bytes(body)), expect, proves=("REPLY-01", "OUT-05"))


def _bad(name: str, body: bytes | str, says: str = "It is not JSON") -> Case:
    return _case(name, body, fails("bad_result", says))


def _structured(name: str, value: str, compact: str | None = None) -> Case:
    kept = compact or value
    expect = gives(text(kept), structured=kept)
    script = answers('{"structured_content":' + value + "}")
    return Case(name, script, expect, proves=("REPLY-04", "REPLY-10"))


JSON_CASES = (
    _case("a result is an object", as_bytes(ok()), _WORKS),
    _case("white space around a result means nothing", b" \r\n\t" + as_bytes(ok()) + b"\n", _WORKS),
    _case("a byte order mark is passed over", _BOM + as_bytes(ok()), _WORKS),
    _case("escapes are characters", '{"content":[{"type":"text","text":"\\u006f\\u006b"}]}',
          _WORKS),
    _case("a text may hold any character", '{"content":[{"type":"text","text":"é漢😀\\u0000"}]}',
          gives(text("é漢😀\0"))),
    _bad("an empty body is no result", b""),
    _bad("white space is no result", b"  \n"),
    _bad("text is no result", b"hello"),
    _bad("half a result is no result", as_bytes(ok())[:-1]),
    _bad("two results are no result", as_bytes(ok()) * 2, "trailing characters"),
    _bad("lines of results are no result", as_bytes(ok()) + b"\n" + as_bytes(ok())),
    _bad("a comment is not JSON", b"// ok\n" + as_bytes(ok())),
    _bad("UTF-16 is not UTF-8", '{"content":[]}'.encode("utf-16")),
    _bad("Latin-1 is not UTF-8", b'{"content":[{"type":"text","text":"\xe9"}]}', "UTF-8"),
    _bad("an overlong encoding is not UTF-8", b'{"content":[{"type":"text","text":"\xc0\xaf"}]}',
         "UTF-8"),
    _bad("an encoded surrogate is not UTF-8",
         b'{"content":[{"type":"text","text":"\xed\xa0\x80"}]}', "UTF-8"),
    _bad("a lone surrogate is no character", '{"content":[{"type":"text","text":"\\ud800"}]}'),
    _bad("a raw line break in a string is not JSON", b'{"content":[{"type":"text","text":"\n"}]}'),
    _bad("NaN is not JSON", '{"structured_content":NaN}'),
    _bad("Infinity is not JSON", '{"structured_content":Infinity}'),
    _bad("minus Infinity is not JSON", '{"structured_content":-Infinity}'),
    _bad("hexadecimal is not JSON", '{"structured_content":0x10}'),
    _bad("a number that no double holds is refused", '{"structured_content":1e999}',
         "out of range"),
    _bad("a field that is repeated is refused", '{"content":[],"is_error":true,"is_error":false}',
         'the key "is_error" occurs twice'),
    _bad("a repetition is found at any depth", '{"structured_content":{"a":[{"k":1,"k":1}]}}',
         'the key "k" occurs twice'),
    _bad("10,000 levels are too deep", b'{"structured_content":' + b"[" * 10_000 + b"]" * 10_000
         + b"}", "100 levels"),
    _bad("10,000 levels that never close are too deep", b'{"structured_content":' + b"[" * 10_000,
         "100 levels"),
    _structured("99 levels are fine", "[" * 99 + "]" * 99),
    _structured("a 20-digit integer keeps its digits", "12345678901234567890"),
    _structured("a 40-digit integer keeps its digits", "1234567890" * 4),
    _structured("1.0 is not 1", "[1.0,1]"),
    _structured("a minus zero stays one", "-0"),
    _structured("more digits than a double holds are kept",
                "3.14159265358979323846264338327950288"),
    _structured("an exponent stays as it was written", "[1e5,1E+05,1e-400]"),
    _structured("keys keep their order", '{"b":1,"a":2}'),
    _structured("white space is left out", '{ "b" : [ 1 , 2 ] }', '{"b":[1,2]}'),
    _structured("escapes stay escapes", '"\\u0041\\/"'),
    _structured("a very wide object is fine",
                "{" + ",".join(f'"k{n}":{n}' for n in range(20_000)) + "}"),
)  # fmt: skip
