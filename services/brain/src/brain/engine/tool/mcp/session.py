"""One MCP session: the SDK's client, kept open by a task of its own. Above: `client`, `listing`.

Below: the SDK, and under it `transport`. Any number of requests go through it at the same time.
"""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from itertools import count
from typing import Any

import httpx2
import structlog
from mcp import Client
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import (
    CallToolRequest,
    CallToolRequestParams,
    EmptyResult,
    Implementation,
    ListToolsRequest,
    PaginatedRequestParams,
)
from pydantic import ValidationError

from brain.engine.tool.http_call import HttpClient
from brain.engine.tool.limits import Limits
from brain.engine.tool.mcp.exchange import MARK, Answer, Exchange
from brain.engine.tool.mcp.notices import LogLine
from brain.engine.tool.mcp.transport import McpTransport
from brain.engine.tool.outcome import Code, Failure

_log = structlog.get_logger(__name__)
_CLOSING_SECONDS = 2.0
_MOST_LOG_LINES = 100
_RAISED = (MCPError, ValidationError, RuntimeError, ValueError)
"""What the SDK says with it was noted already."""

# What the SDK logs holds what servers say; what matters of it is an outcome, or logged here.
for _name in ("mcp", "client"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class McpSession:
    """A session with one server, from the first use on. Use it in one event loop."""

    def __init__(self, http: HttpClient, url: str, token: str | None, limits: Limits) -> None:
        self.transport = McpTransport(http, url, token, limits.header_bytes, self._logged)
        self.used = 0
        self.expiry: asyncio.TimerHandle | None = None
        self._url = url
        self._seconds = limits.headers_seconds
        self._opened: asyncio.Future[ClientSession | Failure] = (
            asyncio.get_running_loop().create_future()
        )
        self._closing = asyncio.Event()
        self._marks = count()
        self._lines = 0
        self._task = asyncio.create_task(self._keep())

    @property
    def usable(self) -> bool:
        """Whether a request may still go through it."""
        return not (self.transport.retired or self._closing.is_set() or self._task.done())

    async def opened(self) -> Failure | None:
        """Wait until it is open; why it isn't. Nothing was asked of any tool then."""
        session = await asyncio.shield(self._opened)
        return session if isinstance(session, Failure) else None

    @property
    def protocol_version(self) -> str | None:
        """What was agreed upon, once it is open."""
        session = self._opened.result()
        return None if isinstance(session, Failure) else session.protocol_version

    async def call(self, tool: str, meta: Mapping[str, str], exchange: Exchange) -> Answer:
        """Call a tool, once the session is open. The exchange holds the arguments."""
        mark = str(next(self._marks))
        members = _meta({**meta, "progressToken": mark}, mark)
        params = CallToolRequestParams(name=tool, arguments={}, _meta=members)
        return await self._ask(CallToolRequest(params=params), mark, exchange)

    async def list_tools(self, cursor: str | None, exchange: Exchange) -> Answer:
        """Ask for a page of tools, once the session is open."""
        mark = str(next(self._marks))
        params = PaginatedRequestParams(cursor=cursor, _meta=_meta({}, mark))
        return await self._ask(ListToolsRequest(params=params), mark, exchange)

    def close(self) -> None:
        """Begin to close it. Requests that still run come to an end."""
        self._closing.set()

    async def closed(self) -> None:
        """Close it, and wait until it is."""
        self._closing.set()
        await asyncio.wait([self._task], timeout=_CLOSING_SECONDS)
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _ask(
        self, request: CallToolRequest | ListToolsRequest, mark: str, exchange: Exchange
    ) -> Answer:
        session = await asyncio.shield(self._opened)
        if isinstance(session, Failure):
            return session
        # The answer that the SDK gets is an empty one: the real one is in the exchange.
        with self.transport.taking(mark, exchange), suppress(*_RAISED):
            await session.send_request(request, EmptyResult)
        return exchange.answer or exchange.unless_resumed or Failure(Code.CONNECTION_LOST)

    async def _keep(self) -> None:
        """Open the session, hold it, close it: the SDK wants all of this in one task."""
        try:
            async with AsyncExitStack() as stack:
                stack.push_async_callback(self.transport.aclose)
                session = await self._open(stack)
                self._opened.set_result(session)
                if not isinstance(session, Failure):
                    await self._closing.wait()
        except Exception as error:  # noqa: BLE001 (whatever the SDK raises: the session has ended)
            _log.info("mcp_session_ended", error=type(error).__name__)
        finally:
            self.transport.retired = True
            if not self._opened.done():
                self._opened.set_result(Failure(Code.MCP_NO_SESSION))

    async def _open(self, stack: AsyncExitStack) -> ClientSession | Failure:
        http = await stack.enter_async_context(
            httpx2.AsyncClient(transport=self.transport, timeout=None, trust_env=False)
        )
        client = Client(
            streamable_http_client(self._url, http_client=http, max_sse_event_size=None),
            cache=None,
            client_info=Implementation(name="brain", version="1"),
        )
        try:
            async with asyncio.timeout(self._seconds):
                return (await stack.enter_async_context(client)).session
        except TimeoutError:
            return Failure(Code.MCP_NO_SESSION, "It did not answer in time.")
        except Exception:  # noqa: BLE001 (servers may answer anything: the SDK raises as it likes)
            return self.transport.failure or Failure(Code.MCP_NO_SESSION)

    def _logged(self, line: LogLine) -> None:
        """Pass a server's log lines on, the first few of a session."""
        self._lines += 1
        if self._lines <= _MOST_LOG_LINES:
            _log.info("mcp_server_logged", level_=line.level, logger_=line.logger, text=line.text)
        elif self._lines == _MOST_LOG_LINES + 1:
            _log.info("mcp_server_logs_no_more", lines=_MOST_LOG_LINES)


def _meta(members: Mapping[str, str], mark: str) -> Any:
    return {**members, MARK: mark}
