"""How one MCP server is reached: connections, and what is written to them. Above: `transport`.

Below: `request`, `http_connection`, `http_response`.
"""

import asyncio
from collections.abc import Mapping

import httpx2

from brain.engine.tool.http_call import HttpClient
from brain.engine.tool.http_connection import Connection
from brain.engine.tool.http_response import HttpResponse, NotHttp
from brain.engine.tool.http_target import parse_target
from brain.engine.tool.mcp import request
from brain.engine.tool.outcome import Failure

_NONE: Mapping[str, str] = {}


class Channel:
    """The way to one server. `header_bytes` are those that a response may have."""

    def __init__(self, http: HttpClient, url: str, token: str | None, header_bytes: int) -> None:
        self._http = http
        self._target = parse_target(url)
        self._authorization = None if token is None else f"Bearer {token}"
        self._header_bytes = header_bytes

    async def connect(self) -> Connection | Failure:
        """A connection that is ready for a request. Write it before giving up control."""
        return await self._http.connections.get(self._target)

    def write(
        self,
        sent: httpx2.Request,
        body: bytes,
        connection: Connection,
        headers: Mapping[str, str] = _NONE,
    ) -> None:
        """Send a request of the SDK's: this is the one place that does."""
        more = {"Authorization": self._authorization, **headers}
        connection.wire.write(request.written(sent, body, self._target, connection, more))

    def response(self, connection: Connection) -> HttpResponse:
        """What will be answered on it."""
        return HttpResponse(connection.wire, self._http.pace, self._header_bytes)

    def let_go(self, connection: Connection, response: HttpResponse) -> None:
        """After a response: keep the connection, or drop it if something is left on it."""
        self._http.connections.put_back(connection, reusable=response.reusable)

    async def tell(self, sent: httpx2.Request, body: bytes, seconds: float) -> None:
        """Send what needs no answer, and wait a while until the server has taken it."""
        try:
            async with asyncio.timeout(seconds):
                connection = await self.connect()
                if isinstance(connection, Failure):
                    return
                response = self.response(connection)
                try:
                    self.write(sent, body, connection)
                    await response.read_head()
                finally:
                    self.let_go(connection, response)
        except (NotHttp, OSError, TimeoutError):
            pass  # it was told, as far as that goes
