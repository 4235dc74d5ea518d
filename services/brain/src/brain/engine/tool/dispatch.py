"""Calls tools over HTTP: from the model's words to one result. Above: `harness`.

Below: `catalog`, `checker`, `http_call`, `flight`, and `outcome` for all that goes wrong.
"""

import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from brain.engine.tool.catalog import Catalog, Tool
from brain.engine.tool.checker import Checker
from brain.engine.tool.checks import Checked
from brain.engine.tool.flight import Flight
from brain.engine.tool.http_call import HttpClient, Post
from brain.engine.tool.inspection import Inspections
from brain.engine.tool.limits import Limits
from brain.engine.tool.outcome import Code, Failure, result_of
from brain.engine.tool.protocol import RunningCall, ToolCall
from brain.engine.tool.sse_reply import OnProgress
from brain_core.clock import Clock
from brain_core.content import ToolResult
from brain_core.trace import child_traceparent

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
    ) -> None:
        """`env` is where the proxy is looked up; `ValueError` if it names one of no use."""
        self._catalog = catalog
        self._inspections = inspections
        self._brain_url = brain_url
        self._clock = clock
        self._limits = limits
        self._client = HttpClient(env, limits)
        self._checker = Checker(limits.validation_seconds)

    def start(self, call: ToolCall, on_progress: Callable[[Raw], None]) -> RunningCall:
        return Flight(lambda flight: self._run(call, on_progress, flight), self._clock)

    async def aclose(self) -> None:
        """Close all connections. Calls that still run come to an end."""
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
        with self._request(call, tool, checked.json) as post:
            flight.depart()
            reply = await self._client.post(
                post, flight.headers_arrived, self._progress(tool, on_progress)
            )
        if isinstance(reply, Failure):
            return result_of(reply, sent=True)
        return _ended(await self._checker.result(tool, reply), sent=True)

    def _admit(self, call: ToolCall) -> Tool | Failure:
        """Whether this session may call this tool, and Brain can."""
        if call.name not in call.enabled:
            return Failure(Code.REFUSED_NOT_ENABLED)
        tool = self._catalog.tool(call.tenant_id, call.name)
        if tool is None or tool.binding.mcp_tool is not None:
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
