"""Calls tools over HTTP: from the model's words to one result. Above: `harness`.

Below: `catalog`, `arguments`, `http_call`, `result`, and `outcome` for all that goes wrong.
"""

import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from brain.engine.tool.arguments import mismatch, read_arguments
from brain.engine.tool.catalog import Catalog, Tool
from brain.engine.tool.flight import Flight
from brain.engine.tool.http_call import HttpClient, Post
from brain.engine.tool.inspection import Inspections
from brain.engine.tool.limits import Limits
from brain.engine.tool.outcome import Code, Failure, result_of
from brain.engine.tool.protocol import RunningCall, ToolCall
from brain.engine.tool.result import parse_result
from brain.engine.tool.schema import check_output
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


class _Admitted(Struct, frozen=True):
    """A call that may be sent, with the text of its arguments."""

    tool: Tool
    arguments: Raw


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

    def start(self, call: ToolCall, on_progress: Callable[[Raw], None]) -> RunningCall:
        return Flight(lambda flight: self._run(call, on_progress, flight), self._clock)

    async def aclose(self) -> None:
        """Close all connections. Calls that still run come to an end."""
        await self._client.aclose()

    async def _run(
        self, call: ToolCall, on_progress: Callable[[Raw], None], flight: Flight
    ) -> ToolResult:
        admitted = self._admit(call)
        if isinstance(admitted, Failure):
            return result_of(admitted, sent=False)
        tool = admitted.tool
        with self._request(call, admitted) as post:
            flight.depart(self._limits.headers_seconds, tool.binding.timeout_seconds)
            reply = await self._client.post(post, flight.headers_arrived, on_progress)
        result = reply if isinstance(reply, Failure) else _read_result(tool, reply)
        return result_of(result, sent=True) if isinstance(result, Failure) else result

    def _admit(self, call: ToolCall) -> _Admitted | Failure:
        """Everything that is checked before anything is sent."""
        if call.name not in call.enabled:
            return Failure(Code.REFUSED_NOT_ENABLED)
        tool = self._catalog.tool(call.tenant_id, call.name)
        if tool is None or tool.binding.mcp_tool is not None:
            return Failure(Code.REFUSED_UNAVAILABLE)
        if not _usable(tool.binding.token):
            return Failure(Code.REFUSED_CREDENTIAL)
        document = read_arguments(call.arguments)
        if isinstance(document, Failure):
            return document
        problems = tool.input.problems(document.value)
        return mismatch(problems) if problems else _Admitted(tool, document.compact)

    @contextmanager
    def _request(self, call: ToolCall, admitted: _Admitted) -> Generator[Post]:
        """The request; its inspection token, if it has one, is good until the block ends."""
        body = _Body(call.tenant_id, call.session_id, call.call_id, admitted.arguments)
        if not admitted.tool.binding.inspect_session:
            yield _post(call, admitted.tool, body)
            return
        with self._inspections.issued(call.tenant_id, call.session_id) as token:
            body = msgspec.structs.replace(body, inspection_token=token, brain_url=self._brain_url)
            yield _post(call, admitted.tool, body)


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


def _read_result(tool: Tool, reply: bytes) -> ToolResult | Failure:
    result = parse_result(reply)
    if isinstance(result, Failure) or result.is_error:
        return result
    problem = check_output(tool.output, result.structured_content)
    return result if problem is None else Failure(Code.BAD_RESULT, problem)
