"""Calls tools: from the model's words to one result. Above: `harness`.

Below: `catalog`, `checker`, `http_call` or `mcp`, `flight`, and `outcome` for all that goes wrong.
"""

import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from brain.engine.tool.catalog import Catalog, Tool
from brain.engine.tool.checker import Checker
from brain.engine.tool.checks import Checked
from brain.engine.tool.flight import Flight
from brain.engine.tool.http_call import HttpClient, Post
from brain.engine.tool.http_connection import always
from brain.engine.tool.inspection import Inspections
from brain.engine.tool.limits import Limits
from brain.engine.tool.mcp.post import McpPost
from brain.engine.tool.outcome import Code, Failure, result_of
from brain.engine.tool.protocol import RunningCall, ToolCall
from brain.engine.tool.sse_reply import OnProgress
from brain_core.clock import Clock
from brain_core.content import ToolResult
from brain_core.trace import child_traceparent

if TYPE_CHECKING:
    from brain.engine.tool.mcp.client import McpClient

_DEFAULT_LIMITS = Limits()
_HEADER_VALUE = re.compile(r"[!-~]([ -~]*[!-~])?")


class _Body(Struct, frozen=True):
    """What is sent. The ids come from the session, never from the model."""

    tenant_id: str
    session_id: str
    call_id: str
    arguments: Raw
    inspection_token: str | UnsetType = UNSET
    brain_url: str | UnsetType = UNSET


class HttpToolCaller:
    """A `ToolCaller`. Use it in one event loop, and close it there."""

    def __init__(
        self,
        catalog: Catalog,
        inspections: Inspections,
        *,
        brain_url: str,
        env: Mapping[str, str],
        clock: Clock,
        limits: Limits = _DEFAULT_LIMITS,
        may_send: Callable[[], bool] = always,
    ) -> None:
        """`env` is where the proxy is looked up; `ValueError` if it names one of no use.

        `may_send` is asked at the last moment before a call is sent.
        """
        self._catalog = catalog
        self._inspections = inspections
        self._brain_url = brain_url
        self._clock = clock
        self._limits = limits
        self._client = HttpClient(env, limits, may_send)
        self._mcp = _mcp_client(catalog, self._client, limits)
        self._checker = Checker(limits.validation_seconds)

    def start(self, call: ToolCall, on_progress: Callable[[Raw], None]) -> RunningCall:
        return Flight(lambda flight: self._run(call, on_progress, flight), self._clock)

    def forget(self, session_id: str) -> None:
        if self._mcp is not None:
            self._mcp.forget(session_id)

    async def aclose(self) -> None:
        """Close all connections. Calls that still run come to an end."""
        if self._mcp is not None:
            await self._mcp.aclose()
        self._client.close()
        await self._checker.aclose()

    async def _run(
        self, call: ToolCall, on_progress: Callable[[Raw], None], flight: Flight
    ) -> ToolResult:
        tool = self._admit(call)
        if isinstance(tool, Failure):
            return result_of(tool, sent=False)
        flight.limit(self._limits.headers_seconds, tool.binding.timeout_seconds)
        checked = await self._checker.arguments(tool, _utf8(call.arguments))
        if isinstance(checked.json, UnsetType):
            return _ended(checked, sent=False)
        if tool.binding.mcp_tool is not None:
            reply = await self._ask_mcp(call, tool, checked.json, on_progress, flight)
        else:
            reply = await self._post(call, tool, checked.json, on_progress, flight)
        if isinstance(reply, Failure):
            return result_of(reply, sent=flight.sent)
        return _ended(await self._checker.result(tool, reply), sent=True)

    async def _post(
        self,
        call: ToolCall,
        tool: Tool,
        arguments: Raw,
        on_progress: Callable[[Raw], None],
        flight: Flight,
    ) -> bytes | Failure:
        with self._request(call, tool, arguments) as post:
            flight.depart()
            return await self._client.post(
                post, flight.headers_arrived, self._progress(tool, on_progress)
            )

    async def _ask_mcp(
        self,
        call: ToolCall,
        tool: Tool,
        arguments: Raw,
        on_progress: Callable[[Raw], None],
        flight: Flight,
    ) -> bytes | Failure:
        assert self._mcp is not None  # there is a binding for it
        parent = call.traceparent
        trace = None if parent is None else child_traceparent(parent)
        post = McpPost(call, tool.binding, arguments, trace)
        return await self._mcp.call(post, flight.depart, flight.headers_arrived, on_progress)

    def _admit(self, call: ToolCall) -> Tool | Failure:
        """Whether this session may call this tool, and Brain can."""
        if call.name not in call.enabled:
            return Failure(Code.REFUSED_NOT_ENABLED)
        tool = self._catalog.tool(call.tenant_id, call.name)
        if tool is None:
            return Failure(Code.REFUSED_UNAVAILABLE)
        return tool if _usable(tool.binding.token) else Failure(Code.REFUSED_CREDENTIAL)

    def _progress(self, tool: Tool, on_progress: Callable[[Raw], None]) -> OnProgress:
        async def take(data: bytes) -> Failure | None:
            checked = await self._checker.progress(tool, data)
            if not isinstance(checked.json, UnsetType):
                on_progress(checked.json)
            return checked.failure

        return take

    @contextmanager
    def _request(self, call: ToolCall, tool: Tool, arguments: Raw) -> Generator[Post]:
        """The request; its inspection token, if it has one, is good until the block ends."""
        body = _Body(call.tenant_id, call.session_id, call.call_id, arguments)
        if not tool.binding.inspect_session:
            yield _post(call, tool, body)
            return
        with self._inspections.issued(call.tenant_id, call.session_id) as token:
            body = msgspec.structs.replace(body, inspection_token=token, brain_url=self._brain_url)
            yield _post(call, tool, body)


def _mcp_client(catalog: Catalog, http: HttpClient, limits: Limits) -> "McpClient | None":
    """What calls the tools of MCP servers, if there are any."""
    if not catalog.has_mcp_tools:
        return None
    # The SDK takes half a second to import: no engine waits for it that doesn't need it.
    from brain.engine.tool.mcp.client import McpClient  # noqa: PLC0415

    return McpClient(http, limits)


def _post(call: ToolCall, tool: Tool, body: _Body) -> Post:
    parent = call.traceparent
    return Post(
        url=tool.binding.url,
        body=msgspec.json.encode(body),
        max_output_bytes=tool.binding.max_output_bytes,
        token=tool.binding.token,
        traceparent=None if parent is None else child_traceparent(parent),
    )


def _usable(token: str | None) -> bool:
    """No token is wanted, or there is one that an HTTP header can hold."""
    return token is None or _HEADER_VALUE.fullmatch(token) is not None


def _utf8(text: str) -> bytes:
    """The model's text. A lone surrogate becomes bytes that aren't UTF-8, and is refused."""
    return text.encode(errors="surrogatepass")


def _ended(checked: Checked, *, sent: bool) -> ToolResult:
    if not isinstance(checked.result, UnsetType):
        return checked.result
    return result_of(checked.failure or Failure(Code.INTERNAL_ERROR), sent=sent)
