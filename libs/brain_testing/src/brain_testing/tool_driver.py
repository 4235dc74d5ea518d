"""Makes tool calls for tests, through the door that the harness uses. Above: tests of tool calls.

Below: `brain.engine.tool`. Each call goes over real sockets to whatever the binding's URL names.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import msgspec
from msgspec import Raw

from brain.engine.tool.catalog import Binding, Catalog
from brain.engine.tool.dispatch import HttpToolCaller
from brain.engine.tool.http_connection import always
from brain.engine.tool.inspection import Inspections
from brain.engine.tool.limits import Limits
from brain.engine.tool.protocol import RunningCall, ToolCall
from brain_core import ids
from brain_core.clock import Clock, SystemClock
from brain_core.content import TextBlock, ToolResult

TENANT = "local"
SESSION = "ses_test"
BRAIN_URL = "http://127.0.0.1:8080"
_PATIENCE = 20.0
ANY_OBJECT = Raw(b'{"type":"object"}')


def binding(url: str, *, name: str = "test", **fields: Any) -> Binding:
    """A binding for the tenant `local`; schemas may be given as Python values."""
    for key in ("input_schema", "output_schema"):
        if key in fields and not isinstance(fields[key], Raw):
            fields[key] = Raw(msgspec.json.encode(fields[key]))
    plain = Binding(name, "A tool.", ANY_OBJECT, url, frozenset({TENANT}))
    return msgspec.structs.replace(plain, **fields)


@dataclass
class Call:
    """A call that was begun, and what came of it so far."""

    running: RunningCall
    call_id: str
    progress: list[bytes] = field(default_factory=list[bytes])
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def result(self) -> ToolResult:
        """The result; a call that doesn't end fails its test."""
        async with asyncio.timeout(_PATIENCE):
            return await self.running.result()

    async def begun(self) -> None:
        """Let the call do what it does before it first has to wait."""
        await asyncio.sleep(0)

    async def progressed(self, times: int) -> None:
        """Wait until so much progress was passed on."""
        async with asyncio.timeout(_PATIENCE):
            while len(self.progress) < times:
                self.news.clear()
                await self.news.wait()


class ToolDriver:
    """Callers for any number of catalogs, closed together at the end."""

    def __init__(self) -> None:
        self.inspections = Inspections()
        self._callers: list[HttpToolCaller] = []

    async def __aenter__(self) -> "ToolDriver":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for caller in self._callers:
            await caller.aclose()

    def caller(
        self,
        *bindings: Binding,
        limits: Limits | None = None,
        clock: Clock | None = None,
        env: Mapping[str, str] | None = None,
        may_send: Callable[[], bool] = always,
    ) -> HttpToolCaller:
        """A caller for these tools."""
        caller = HttpToolCaller(
            Catalog(bindings),
            self.inspections,
            brain_url=BRAIN_URL,
            env=env or {},
            limits=limits or Limits(),
            clock=clock or SystemClock(),
            may_send=may_send,
        )
        self._callers.append(caller)
        return caller


def start(
    caller: HttpToolCaller,
    arguments: str = "{}",
    *,
    name: str = "test",
    on_progress: Callable[[Raw], None] | None = None,
    **fields: Any,
) -> Call:
    """Begin a call. What is not said is a session of the tenant `local` with this one tool."""
    progress: list[bytes] = []
    news = asyncio.Event()

    def note(payload: Raw) -> None:
        progress.append(bytes(payload))
        news.set()
        if on_progress is not None:
            on_progress(payload)

    plain = ToolCall(TENANT, SESSION, ids.call_id(), name, arguments, (name,))
    call = msgspec.structs.replace(plain, **fields)
    return Call(caller.start(call, note), call.call_id, progress, news)


def said(result: ToolResult) -> str:
    """The text of a result's only block."""
    (block,) = result.content
    assert isinstance(block, TextBlock)
    return block.text
