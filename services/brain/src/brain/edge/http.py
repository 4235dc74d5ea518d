"""HTTP/1.1 on one connection: uvicorn's, with the bounds and the manners that it lacks.

Above: the wiring gives it to uvicorn. Below: httptools, `problems`. uvicorn bounds neither a
request's head nor the time that it takes, waits for ever for a client that reads nothing, mixes
trailers into the headers, loses the body of a request that offers an upgrade, as curl's `--http2`
and Java's own client do, and never tells a request that its client went away if another one came
after it.
"""

import asyncio
from typing import Any

import httptools
import msgspec
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from brain.edge.headers import with_defaults
from brain.edge.problems import MEDIA_TYPE, problem

MAX_HEAD_BYTES = 64 * 1024


class BoundedHttp(HttpToolsProtocol):
    """A connection. Its client may take `request_seconds` for a request, from end to end.

    An answer of which the client has taken nothing for `stalled_seconds` is given up.
    """

    request_seconds = 120.0
    stalled_seconds = 60.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_head = False
        self._upgrading = False
        self._head_too_large = False
        self._whole = False
        self._advanced = False
        self._overhead = 0
        self._running: RequestResponseCycle | None = None
        self._request_timer: asyncio.TimerHandle | None = None
        self._stall_timer: asyncio.TimerHandle | None = None

    # What the transport tells.

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_timers()
        super().connection_lost(exc)
        running = self._running
        if running is not None and not running.response_complete:
            running.disconnected = True  # uvicorn tells only the last one that it has read
            running.message_event.set()

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        self._whole = self._advanced = False
        try:
            self._feed(data)
        except httptools.HttpParserError:
            self._refuse(431 if self._head_too_large else 400)
            return
        if self._whole:
            self._overhead = 0
            self._request_timer = _ended(self._request_timer)
            return
        self._overhead = 0 if self._advanced else self._overhead + len(data)
        if self._overhead > MAX_HEAD_BYTES:
            self._refuse(431)
        self._await_request()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._await_reader()

    def resume_writing(self) -> None:
        self._stall_timer = _ended(self._stall_timer)
        super().resume_writing()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    # What the parser tells.

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._whole = True, False

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # else it is a trailer, and says nothing that anyone asked
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > MAX_HEAD_BYTES:
            self._head_too_large = True
            raise ValueError
        self._upgrading = self.parser.should_upgrade()
        if not self._upgrading:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._advanced = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._upgrading:
            self._whole = True
            super().on_message_complete()

    # An upgrade is an offer, and is not taken.

    def _feed(self, data: bytes) -> None:
        while data:
            try:
                self.parser.feed_data(data)
                return
            except httptools.HttpParserUpgrade as upgrade:
                data = self._head_without_upgrade() + data[upgrade.args[0] :]

    def _head_without_upgrade(self) -> bytes:
        """The head that was read, for a new parser: this one has nothing more to say."""
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        if method == b"CONNECT":
            raise httptools.HttpParserError
        headers = [b"%b: %b\r\n" % each for each in self.headers if each[0] != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        return b"%b %b HTTP/%b\r\n%b\r\n" % (method, self.url, version, b"".join(headers))

    # The ends of patience.

    def _await_request(self) -> None:
        if self._request_timer is None:
            self._request_timer = self.loop.call_later(self.request_seconds, self.transport.close)

    def _await_reader(self) -> None:
        unread = self.transport.get_write_buffer_size()
        self._stall_timer = self.loop.call_later(self.stalled_seconds, self._check_reader, unread)

    def _check_reader(self, unread: int) -> None:
        if self.transport.get_write_buffer_size() < unread:
            self._await_reader()
        else:
            self.transport.abort()

    def _end_timers(self) -> None:
        self._request_timer = _ended(self._request_timer)
        self._stall_timer = _ended(self._stall_timer)

    def _refuse(self, status: int) -> None:
        """End the connection, with a problem unless that would be taken for part of an answer."""
        running = self._running
        if running is None or running.response_complete:
            self.transport.write(_refusal(status))
        elif running.more_body and not running.response_started:
            running.disconnected = True  # it has its answer
            self.transport.write(_refusal(status))
        self.transport.close()


def _ended(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


def _refusal(status: int) -> bytes:
    told = {
        400: "This is not an HTTP/1.1 request.",
        431: f"The request's head may have {MAX_HEAD_BYTES} bytes at most.",
    }
    body = msgspec.json.encode(problem(status, told[status]))
    headers = with_defaults(
        [
            (b"content-type", MEDIA_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
    )
    lines = [b"%b: %b\r\n" % header for header in headers]
    return b"%b%b\r\n%b" % (STATUS_LINE[status], b"".join(lines), body)
