"""What calling tools means. Above: `harness`. Below: HTTP or MCP."""

from collections.abc import Callable
from typing import Protocol

from msgspec import Raw, Struct

from brain_core.content import ToolResult


class ToolCall(Struct, frozen=True):
    """One call. `arguments` is the model's text, JSON or not; all else comes from the session.

    `enabled` are the names of the session's tools.
    """

    tenant_id: str
    session_id: str
    call_id: str
    name: str
    arguments: str
    enabled: tuple[str, ...]
    traceparent: str | None = None


class RunningCall(Protocol):
    """A call that was begun."""

    async def result(self) -> ToolResult:
        """The one result, whatever happens. Never raises for anything the service did."""
        ...

    def interrupt(self) -> None:
        """Cancel: drop the request if one is in flight. `result` then returns promptly.

        Its outcome is unknown if anything may have been sent, known otherwise. Too late, it
        changes nothing.
        """
        ...


class ToolCaller(Protocol):
    """Calls tools."""

    def start(self, call: ToolCall, on_progress: Callable[[Raw], None]) -> RunningCall:
        """Begin a call. `on_progress` gets each progress payload as compact JSON.

        Nothing is sent before control goes back to the event loop.
        """
        ...

    def forget(self, session_id: str) -> None:
        """The session has ended: let go of what is kept for its next call."""
        ...
