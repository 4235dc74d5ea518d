"""Limits on tool calls that no binding sets. A test lowers them; a deployment doesn't."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Seconds and bytes.

    `headers_seconds`: until a service's response headers, from the start of the call.
    `reuse_seconds`: how long an idle connection may still be used. Short, because a service may
    close it at the very moment when the next request goes out, and that call's outcome would be
    unknown for nothing.
    `header_bytes`: of a response, for everything that isn't body.
    `validation_seconds`: for checking one document against one schema.
    `mcp_idle_seconds`: how long a session with an MCP server is kept that nobody uses.
    `mcp_sessions`: how many are kept.
    """

    headers_seconds: float = 30.0
    reuse_seconds: float = 1.0
    header_bytes: int = 64 * 1024
    validation_seconds: float = 5.0
    mcp_idle_seconds: float = 300.0
    mcp_sessions: int = 256
