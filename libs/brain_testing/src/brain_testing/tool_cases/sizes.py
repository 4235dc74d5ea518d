"""Output of exactly the limit, and of one byte more (OUT-10)."""

from brain_testing.raw_script import (
    Flood,
    Read,
    Send,
    Step,
    answers,
    as_bytes,
    chunks,
    event,
    head,
    ok,
    response,
)
from brain_testing.tool_cases.case import Case, Expect, fails, gives, text

_LIMIT = 1000
_DEFAULT = 1_048_576
_MOST = 2_097_152
_FRAME = len(as_bytes(ok("")))
_TOO_LARGE = fails("too_large", f"The limit is {_LIMIT} bytes.")


def _document(size: int) -> bytes:
    return as_bytes(ok("x" * (size - _FRAME)))


def _stream(size: int) -> bytes:
    """A stream whose result is complete with byte number `size`."""
    result = event("result", ok())
    return b":" + b"x" * (size - len(result) - 2) + b"\n" + result


def _case(name: str, expect: Expect, *steps: Step, limit: int = _LIMIT) -> Case:
    binding = {} if limit == _DEFAULT else {"max_output_bytes": limit}
    return Case(name, (Read(), *steps), expect, binding=binding, proves=("OUT-05", "OUT-10"))


def _fits(size: int) -> Expect:
    return gives(text("x" * (size - _FRAME)))


_CHUNKED = head("application/json", "Transfer-Encoding: chunked")
_UNTIL_CLOSED = head("application/json", "Connection: close")
_EVENTS = head("text/event-stream")

SIZE_CASES = (
    _case("JSON of exactly the limit is fine", _fits(_LIMIT), Send(response(_document(_LIMIT)))),
    _case("JSON of one byte more is too large", _TOO_LARGE, Send(response(_document(_LIMIT + 1)))),
    _case("white space counts", _TOO_LARGE, Send(response(_document(_LIMIT) + b"\n"))),
    _case("chunks of exactly the limit are fine", _fits(_LIMIT),
          Send(_CHUNKED + chunks(_document(_LIMIT)[:500], _document(_LIMIT)[500:]))),
    _case("chunks of one byte more are too large", _TOO_LARGE,
          Send(_CHUNKED + chunks(_document(_LIMIT), b"\n"))),
    _case("a chunked body that never ends is too large", _TOO_LARGE, Send(_CHUNKED),
          Flood(chunks(b" " * 65536, last=False))),
    _case("a body without a length that never ends is too large", _TOO_LARGE, Send(_UNTIL_CLOSED),
          Flood(b" " * 65536)),
    _case("an announced length that is too large is not waited for", _TOO_LARGE,
          Send(head("application/json", "Content-Length: 1001"))),
    _case("an absurd length is not waited for", _TOO_LARGE,
          Send(head("application/json", "Content-Length: 999999999999"))),
    _case("a single byte may be the limit", fails("too_large", "The limit is 1 bytes."),
          Send(response(ok())), limit=1),
    _case("the default limit is 1 MiB", _fits(_DEFAULT), Send(response(_document(_DEFAULT))),
          limit=_DEFAULT),
    _case("one byte more than the default is too large", fails("too_large", "1048576"),
          Send(response(_document(_DEFAULT + 1))), limit=_DEFAULT),
    _case("2 MiB are fine if the binding says so", _fits(_MOST), Send(response(_document(_MOST))),
          limit=_MOST),
    _case("a result that is complete with the last byte is fine", gives(text("ok")),
          Send(_EVENTS + _stream(_LIMIT))),
    _case("a result that is complete one byte later is too large", _TOO_LARGE,
          Send(_EVENTS + _stream(_LIMIT + 1))),
    _case("what follows the result does not count", gives(text("ok")),
          Send(_EVENTS + _stream(_LIMIT) + b"x" * 5000)),
    _case("comments count", _TOO_LARGE, Send(_EVENTS), Flood(b": still here\n\n")),
    _case("a line that never ends is too large", _TOO_LARGE, Send(_EVENTS), Flood(b"x" * 65536)),
    _case("an event that never ends is too large", _TOO_LARGE, Send(_EVENTS),
          Flood(b"data: x\n" * 1000)),
    _case("progress counts", fails("too_large", progress=("1",) * 40), Send(_EVENTS
          + event("progress", 1) * 40 + b":" * 200)),
    _case("10 MiB of progress are too large",
          fails("too_large", "1048576", progress=('"' + "x" * 100_000 + '"',) * 10), Send(_EVENTS),
          Flood(event("progress", '"' + "x" * 100_000 + '"'), times=105), limit=_DEFAULT),
    Case("a large result is checked whole", answers(_document(900_000)[:-1] + b',"x":1}'),
         fails("bad_result", "`x`"), proves=("OUT-05",)),
)  # fmt: skip
