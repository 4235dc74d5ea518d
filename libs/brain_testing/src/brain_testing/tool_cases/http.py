"""HTTP: connections, statuses, content types (OUT-03 to OUT-05, REPLY-01, REPLY-09, TOOL-06)."""

from typing import Any

from brain_testing.raw_script import (
    Close,
    Read,
    Reset,
    Script,
    Send,
    Step,
    UntilGone,
    answers,
    chunks,
    head,
    ok,
    response,
)
from brain_testing.tool_cases.case import Case, Expect, fails, gives, text

_WORKS = gives(text("ok"))
_UNREADABLE = "content type that can't be read"


def _status(status: str, body: Any = "", *fields: str) -> Case:
    number = status.split(" ", maxsplit=1)[0]
    script = answers(body, *fields, status=status)
    return Case(
        f"status {status} is an error, whatever its body says",
        script,
        fails("http_status", f"The status is {number}."),
        proves=("OUT-04", "OUT-08"),
    )


def _type(name: str, content_type: str | None, expect: Expect, *fields: str) -> Case:
    script = answers(ok(), *fields, content_type=content_type)
    return Case(name, script, expect, proves=("REPLY-01", "REPLY-09", "OUT-05"))


def _lost(name: str, *steps: Step, code: str = "connection_lost") -> Case:
    return Case(name, steps, fails(code), proves=("OUT-03", "TOOL-05"))


def _works(name: str, *steps: Step) -> Case:
    return Case(name, steps, _WORKS, proves=("REPLY-01",))


def _bad_http(name: str, answer: bytes) -> Case:
    return Case(name, (Read(), Send(answer), UntilGone()), fails("bad_http"), proves=("OUT-05",))


_STATUSES = (
    _status("300 Multiple Choices"),
    _status("301 Moved Permanently", "", "Location: http://127.0.0.1:1/elsewhere"),
    _status("302 Found", ok(), "Location: /tools/test"),
    _status("303 See Other", "", "Location: /tools/test"),
    _status("304 Not Modified"),
    _status("307 Temporary Redirect", "", "Location: /tools/test"),
    _status("308 Permanent Redirect", "", "Location: /tools/test"),
    _status("400 Bad Request", ok("a secret of the service")),
    _status("401 Unauthorized", "", "WWW-Authenticate: Bearer"),
    _status("404 Not Found"),
    _status("407 Proxy Authentication Required"),
    _status("408 Request Timeout"),
    _status("425 Too Early"),
    _status("429 Too Many Requests", "", "Retry-After: 1"),
    _status("500 Internal Server Error", ok()),
    _status("503 Service Unavailable", ok(), "Retry-After: 0"),
    _status("599 Whatever"),
    _status("999 Whatever"),
    Case("a switch of protocols is an error", (Read(), Send(head(None, "Upgrade: x",
         "Connection: upgrade", status="101 Switching Protocols")), UntilGone()),
         fails("http_status", "101"), proves=("OUT-04",)),
    Case("informational responses are passed over", (Read(),
         Send(b"HTTP/1.1 100 Continue\r\n\r\n" + head(None, "Link: <x>", status="103 Early Hints")
              + response(ok()))), _WORKS, proves=("REPLY-01",)),
    Case("201 is as good as 200", answers(ok(), status="201 Created"), _WORKS,
         proves=("REPLY-01",)),
    Case("202 is as good as 200", answers(ok(), status="202 Accepted"), _WORKS,
         proves=("REPLY-01",)),
    Case("206 is as good as 200", answers(ok(), status="206 Partial Content"), _WORKS,
         proves=("REPLY-01",)),
    Case("204 has no content type", answers("", content_type=None, status="204 No Content"),
         fails("wrong_content_type", "It has none"), proves=("REPLY-09", "OUT-05")),
    Case("204 has no result, whatever its content type", (Read(), Send(
         head("application/json", status="204 No Content"))), fails("bad_result"),
         proves=("OUT-05",)),
)  # fmt: skip

_CONTENT_TYPES = (
    _type("a content type may have parameters", "application/json; charset=utf-8", _WORKS),
    _type("a charset may be quoted", 'application/json;charset="UTF-8"', _WORKS),
    _type("other parameters mean nothing", "application/json; v=1; x=y", _WORKS),
    _type("the case of a content type means nothing", "Application/JSON", _WORKS),
    _type("ASCII is UTF-8", "application/json; charset=us-ascii", _WORKS),
    _type("another charset can't be read", "application/json; charset=iso-8859-1",
          fails("wrong_content_type", "charset is not UTF-8")),
    _type("UTF-16 can't be read", "application/json; charset=utf-16",
          fails("wrong_content_type", "charset is not UTF-8")),
    _type("text is not JSON", "text/plain", fails("wrong_content_type", _UNREADABLE)),
    _type("a web page is not JSON", "text/html; charset=utf-8",
          fails("wrong_content_type", _UNREADABLE)),
    _type("a problem document is not a result", "application/problem+json",
          fails("wrong_content_type", _UNREADABLE)),
    _type("text/json is not application/json", "text/json",
          fails("wrong_content_type", _UNREADABLE)),
    _type("lines of JSON are not JSON", "application/jsonlines",
          fails("wrong_content_type", _UNREADABLE)),
    _type("an empty content type is none of the two", "",
          fails("wrong_content_type", _UNREADABLE)),
    _type("no content type can't be read", None, fails("wrong_content_type", "It has none.")),
    _type("two content types can't be read", "application/json",
          fails("wrong_content_type", "It has several."), "Content-Type: text/html"),
    _type("a list of content types can't be read", "application/json, text/html",
          fails("wrong_content_type", _UNREADABLE)),
    _type("a compressed answer can't be read", "application/json",
          fails("wrong_content_type", "compressed"), "Content-Encoding: gzip"),
    _type("the identity encoding is none", "application/json", _WORKS,
          "Content-Encoding: identity"),
)  # fmt: skip

_CUT: Script = (Read(), Send(response(ok())[:-4]))

_CONNECTIONS = (
    _lost("a connection that closes at once is lost", Close()),
    _lost("a connection that is reset at once is lost", Reset()),
    _lost("a connection that closes before the headers is lost", Read(), Close()),
    _lost("a connection that is reset before the headers is lost", Read(), Reset()),
    _lost("a connection that closes within the headers is lost", Read(),
          Send(b"HTTP/1.1 200 OK\r\nContent-Ty"), Close()),
    _lost("a connection that closes after the headers is lost", Read(),
          Send(head("application/json", "Content-Length: 10")), Close()),
    _lost("a connection that closes within the body is lost", *_CUT, Close()),
    _lost("a connection that is reset within the body is lost", *_CUT, Reset()),
    _lost("a chunked body without its last chunk is lost", Read(),
          Send(head("application/json", "Transfer-Encoding: chunked")
               + chunks(b'{"content":[]', last=False)), Close()),
    _lost("a chunk that is cut off is lost", Read(),
          Send(head("application/json", "Transfer-Encoding: chunked") + b"ff\r\n{"), Close()),
    _lost("a Content-Length that promises too much is a lost connection", Read(),
          Send(head("application/json", "Content-Length: 500") + b'{"content":[]}'), Close()),
    _lost("a body that ends with its connection must not end with a reset", Read(),
          Send(head("application/json", "Connection: close")), Send(response(ok())[-14:]), Reset()),
    _works("what follows the announced length is not read", Read(),
           Send(response(ok()) + b"garbage")),
    _works("a body may end with its connection", Read(),
           Send(head("application/json", "Connection: close") + b'{"content":'
                b'[{"type":"text","text":"ok"}]}'), Close()),
    _works("HTTP/1.0 is fine", Read(), Send(
        b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"
        b'{"content":[{"type":"text","text":"ok"}]}'), Close()),
    _works("a chunked body is fine", Read(), Send(
        head("application/json", "Transfer-Encoding: chunked")
        + chunks(b'{"content":[{"type":"text",', b'"text":"ok"}]}'))),
    _works("chunk extensions and trailers mean nothing", Read(), Send(
        head("application/json", "Transfer-Encoding: chunked")
        + b'29;x=y\r\n{"content":[{"type":"text","text":"ok"}]}\r\n0\r\nX-Sum: 1\r\n\r\n')),
    _works("a response that comes byte by byte is fine", Read(), Send(response(ok()), piece=1)),
    _works("header names have any case", Read(), Send(
        response(ok(), content_type=None).replace(
            b"Content-Length", b"CONTENT-TYPE: application/json\r\ncontent-length"))),
    _works("an answer before the request was read is an answer", Send(response(ok())),
           UntilGone()),
    _works("an answer before the body was read is an answer", Read(head_only=True),
           Send(response(ok())), UntilGone()),
    _works("cookies are not kept", Read(), Send(response(ok(), "Set-Cookie: a=b"))),
)  # fmt: skip

_NOT_HTTP = (
    _bad_http("what isn't HTTP is no answer", b"hello, this is SMTP\r\n\r\n"),
    _bad_http("a status that isn't a number is no answer", b"HTTP/1.1 abc OK\r\n\r\n"),
    _bad_http("a header without a name is no answer", b"HTTP/1.1 200 OK\r\n: x\r\n\r\n"),
    _bad_http("a Content-Length that isn't a number is no answer",
              head("application/json", "Content-Length: ten")),
    _bad_http("two different Content-Lengths are no answer",
              head("application/json", "Content-Length: 2", "Content-Length: 3") + b"{}"),
    _bad_http("a header line of more than 64 KiB is no answer",
              head("application/json", "X-Long: " + "x" * 70_000)),
    _bad_http("ten thousand header lines are no answer",
              head("application/json", *("X-Many: x" for _ in range(10_000)))),
)  # fmt: skip

HTTP_CASES = (*_STATUSES, *_CONTENT_TYPES, *_CONNECTIONS, *_NOT_HTTP)
