"""Streams of server-sent events (REPLY-06 to REPLY-08)."""

from brain_testing.raw_script import (
    Close,
    Flood,
    Read,
    Reset,
    Send,
    Step,
    UntilGone,
    chunks,
    event,
    head,
    ok,
    response,
    streams,
)
from brain_testing.tool_cases.case import Case, Expect, fails, gives, text

_RESULT = event("result", ok())
_WORKS = gives(text("ok"))
_HEAD = Send(head("text/event-stream"))


def _stream(name: str, expect: Expect, *parts: bytes, piece: int | None = None) -> Case:
    return Case(name, streams(*parts, piece=piece), expect,
                proves=("REPLY-06", "REPLY-07", "REPLY-08"))  # fmt: skip


def _open(name: str, expect: Expect, *steps: Step) -> Case:
    return Case(name, (Read(), _HEAD, *steps), expect, proves=("REPLY-06", "REPLY-08"))


def _progress(*payloads: str) -> Expect:
    return gives(text("ok"), progress=payloads)


def _lines(*lines: str, newline: str = "\n") -> bytes:
    return newline.join(lines).encode()


_TALK = (
    event("progress", {"n": 1}, newline="{nl}")
    + _lines(": still here", "", "", newline="{nl}")
    + event("progress", '"é漢😀"', newline="{nl}")
    + event("result", ok(), newline="{nl}")
)
_SAID = _progress('{"n":1}', '"é漢😀"')


def _talk(newline: str) -> bytes:
    return _TALK.replace(b"{nl}", newline.encode())


_FORM = (
    _stream("a result alone is enough", _WORKS, _RESULT),
    _stream("lines may end in LF", _SAID, _talk("\n")),
    _stream("lines may end in CRLF", _SAID, _talk("\r\n")),
    _stream("lines may end in CR", _SAID, _talk("\r")),
    _stream("LF byte by byte is the same", _SAID, _talk("\n"), piece=1),
    _stream("CRLF byte by byte is the same", _SAID, _talk("\r\n"), piece=1),
    _stream("CR byte by byte is the same", _SAID, _talk("\r"), piece=1),
    _stream("line ends may be mixed", _SAID, _talk("\n").replace(b"\n", b"\r\n", 3)),
    _stream("a stream may begin with a byte order mark", _WORKS, b"\xef\xbb\xbf" + _RESULT),
    _stream("a byte order mark may come byte by byte", _WORKS, b"\xef\xbb\xbf" + _RESULT, piece=1),
    _stream("a byte order mark later on is part of a name", fails("no_result"),
            b"\n\xef\xbb\xbf" + _RESULT.replace(b"event: ", b"event-", 1).replace(b"data", b"dat")),
    _stream("data may take several lines", _WORKS, _lines("event: result", 'data: {"content":[',
            'data: {"type":"text",', 'data: "text":"ok"}]}', "", "")),
    _stream("the order of an event's fields means nothing", _WORKS,
            _lines('data: {"content":[{"type":"text","text":"ok"}]}', "event: result", "", "")),
    _stream("the last name of an event is its name", _WORKS, _lines("event: progress",
            "event: result", 'data: {"content":[{"type":"text","text":"ok"}]}', "", "")),
    _stream("the space after the colon may be left out", _WORKS,
            _lines("event:result", 'data:{"content":[{"type":"text","text":"ok"}]}', "", "")),
    _stream("only one space is left out", fails("bad_event", "' result'"),
            _lines("event:  result", "data: 1", "", "")),
    _stream("comments mean nothing", _WORKS, b": hello\n\n:\n:::\n: event: x\n\n" + _RESULT),
    _stream("a comment within an event means nothing", _WORKS,
            _RESULT.replace(b"\ndata", b"\n: thinking\ndata", 1)),
    _stream("ids and retry times mean nothing", _WORKS, b"id: 1\nretry: 5\nid\n" + _RESULT),
    _stream("unknown fields mean nothing", _WORKS, b"foo: bar\nEVENT: x\n" + _RESULT),
    _stream("a field without a colon has an empty value", fails("bad_event", "nothing"),
            _lines("event", "data: 1", "", "")),
    _stream("an event without data is no event", _WORKS, b"event: whatever\n\n" + _RESULT),
    _stream("blank lines mean nothing", _WORKS, b"\n\n\n" + _RESULT),
    Case("a chunked stream is fine", (Read(), Send(head("text/event-stream",
         "Transfer-Encoding: chunked") + chunks(*(bytes([b]) for b in _RESULT), last=False)),
         UntilGone()), _WORKS, proves=("REPLY-06",)),
    Case("a stream may have a length", (Read(), Send(
         response(_RESULT, content_type="text/event-stream"))), _WORKS, proves=("REPLY-06",)),
    Case("a stream's content type may have parameters", (Read(), Send(
         response(_RESULT, content_type="Text/Event-Stream; charset=UTF-8"))), _WORKS,
         proves=("REPLY-06",)),
    Case("a stream's charset is UTF-8", (Read(), Send(
         response(_RESULT, content_type="text/event-stream; charset=latin1"))),
         fails("wrong_content_type", "charset"), proves=("REPLY-06",)),
)  # fmt: skip

_PROGRESS = (
    _stream("progress may be any JSON", _progress("1", "null", '"x"', "[]", "{}"),
            *(event("progress", value) for value in ("1", "null", '"x"', "[]", "{}")), _RESULT),
    _stream("progress is made compact", _progress('{"a":[1,2]}'),
            event("progress", '{ "a" : [1,\n 2] }'), _RESULT),
    _stream("numbers in progress keep their digits", _progress("12345678901234567890", "1.0"),
            event("progress", "12345678901234567890"), event("progress", "1.0"), _RESULT),
    _stream("a thousand progress events are all passed on",
            _progress(*(str(n) for n in range(1000))),
            *(event("progress", n) for n in range(1000)), _RESULT),
    _stream("progress that isn't JSON fails the call", fails("bad_event", "not JSON"),
            event("progress", "working"), _RESULT),
    _stream("empty progress is not JSON", fails("bad_event", "not JSON"),
            _lines("event: progress", "data:", "", ""), _RESULT),
    _stream("progress that isn't UTF-8 fails the call", fails("bad_event", "UTF-8"),
            b'event: progress\ndata: "\xff"\n\n', _RESULT),
    _stream("NaN in progress is not JSON", fails("bad_event", "not JSON"),
            event("progress", "NaN"), _RESULT),
    _stream("progress that repeats a key fails the call", fails("bad_event", "occurs twice"),
            event("progress", '{"a":1,"a":2}'), _RESULT),
    _stream("progress that is too deep fails the call", fails("bad_event", "100 levels"),
            event("progress", "[" * 10_000 + "]" * 10_000), _RESULT),
    _stream("progress before a failure was passed on",
            fails("bad_event", "not JSON", progress=("1",)), event("progress", 1),
            event("progress", "?")),
)  # fmt: skip

_NAMES = (
    _stream("an unknown event fails the call", fails("bad_event", "'done'"),
            event("done", 1), _RESULT),
    _stream("an event without a name fails the call", fails("bad_event", "nothing"),
            event(None, ok()), _RESULT),
    _stream("the default name of events fails the call", fails("bad_event", "'message'"),
            event("message", ok()), _RESULT),
    _stream("the case of a name matters", fails("bad_event", "'Result'"), event("Result", ok())),
    _stream("a name that isn't UTF-8 is unknown", fails("bad_event"),
            b"event: \xff\xfe\ndata: 1\n\n"),
    _stream("an error event is unknown", fails("bad_event", "'error'"),
            event("error", {"message": "boom"})),
)  # fmt: skip

_ENDS = (
    _stream("a second result is not read", _WORKS, _RESULT, event("result", ok("second"))),
    _stream("an unknown event after the result is not read", _WORKS, _RESULT, event("done", 1)),
    _stream("progress after the result is not read", _WORKS, _RESULT, event("progress", 1)),
    _stream("what is no HTTP after the result is not read", _WORKS, _RESULT, b"\xff" * 1000),
    _open("a stream that goes on after its result is closed", _WORKS, Send(_RESULT), UntilGone()),
    _open("a stream that floods after its result is closed", _WORKS, Send(_RESULT),
          Flood(b": more\n" * 1000)),
    _open("a reset after the result changes nothing", _WORKS, Send(_RESULT), Reset()),
    _stream("a stream of nothing has no result", fails("no_result")),
    _stream("a stream of comments has no result", fails("no_result"), b": a\n\n: b\n\n"),
    _stream("a stream of progress has no result", fails("no_result", progress=("1",)),
            event("progress", 1)),
    _stream("a result that no blank line ended is none", fails("no_result"), _RESULT[:-1]),
    _stream("a result whose line did not end is none", fails("no_result"), _RESULT[:-2]),
    _stream("a JSON document is not a stream of events", fails("no_result"),
            response(ok()).partition(b"\r\n\r\n")[2]),
    _stream("a result without data is none", fails("no_result"), b"event: result\n\n"),
    _stream("a result that isn't JSON is a bad result", fails("bad_result", "not JSON"),
            event("result", "done")),
    _stream("an empty result is a bad result", fails("bad_result", "not JSON"),
            b"event: result\ndata\n\n"),
    _stream("an invalid result is a bad result", fails("bad_result", "`extra`"),
            event("result", ok(extra=1)), event("result", ok())),
    _stream("an error result is the tool's own answer",
            Expect(is_error=True, content=text("Operator answered no.")),
            event("result", ok("Operator answered no.", is_error=True))),
    _open("a reset before the result is a lost connection",
          fails("connection_lost", progress=("1",)), Send(event("progress", 1)), Reset()),
    Case("a chunked stream that is cut off is a lost connection", (Read(), Send(head(
         "text/event-stream", "Transfer-Encoding: chunked") + chunks(event("progress", 1),
         last=False)), Close()), fails("connection_lost", progress=("1",)), proves=("OUT-03",)),
)  # fmt: skip

SSE_CASES: tuple[Case, ...] = (*_FORM, *_PROGRESS, *_NAMES, *_ENDS)
