"""The connection that a request goes over, as far as aiohttp doesn't show it. Above: `http_call`.

aiohttp closes connections politely, which waits for ever on a service that reads nothing, and it
takes a reset for the end of a body that has no other end. So a request notes its connection.
"""

import asyncio
import ssl
from contextvars import ContextVar

import aiohttp
from aiohttp import ClientRequest, ClientResponse, ClientSession, ClientTimeout, TCPConnector
from aiohttp.abc import AbstractStreamWriter
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection

from brain.engine.tool.limits import Limits

_NO_TIMEOUTS = ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)
"""`flight` keeps the time, for all stages at once."""


class Line:
    """The connection of one request. Make it in the task that sends the request, before that."""

    def __init__(self) -> None:
        self._protocol: ResponseHandler | None = None
        self._transport: asyncio.BaseTransport | None = None
        self.written = False
        _line.set(self)

    def note(self, connection: Connection) -> None:
        """The request goes over this connection."""
        self._protocol, self._transport = connection.protocol, connection.transport

    def end(self, *, complete: bool) -> None:
        """Drop the connection at once, unless the request and its response are complete."""
        if complete and self.written:
            return
        if isinstance(self._transport, asyncio.WriteTransport):
            self._transport.abort()

    async def read(self, response: ClientResponse) -> bytes:
        """Some more of the body, or nothing at its end. Raises if the connection broke first."""
        chunk = await response.content.readany()
        if not chunk and self._was_reset() and not _has_an_end(response):
            raise aiohttp.ClientPayloadError
        return chunk

    def _was_reset(self) -> bool:
        protocol = self._protocol
        return protocol is not None and isinstance(protocol.exception(), aiohttp.ClientOSError)


def _has_an_end(response: ClientResponse) -> bool:
    """Whether the body's end is marked. If not, it ends with its connection."""
    return "Content-Length" in response.headers or "Transfer-Encoding" in response.headers


_line: ContextVar[Line] = ContextVar("_line")


class _NotedRequest(ClientRequest):
    """A request that tells its `Line` what becomes of it."""

    async def send(self, conn: Connection) -> ClientResponse:
        _line.get().note(conn)
        return await super().send(conn)

    async def write_bytes(
        self, writer: AbstractStreamWriter, conn: Connection, content_length: int | None = None
    ) -> None:
        line = _line.get()
        await super().write_bytes(writer, conn, content_length)
        line.written = True


def open_session(limits: Limits, tls: ssl.SSLContext) -> ClientSession:
    """A session that takes nothing from the environment and adds nothing to a request."""
    return ClientSession(
        connector=TCPConnector(limit=0, keepalive_timeout=limits.reuse_seconds, ssl=tls),
        request_class=_NotedRequest,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=_NO_TIMEOUTS,
        auto_decompress=False,
        trust_env=False,
        max_line_size=limits.header_bytes,
        max_field_size=limits.header_bytes,
        max_headers=limits.header_count,
    )
