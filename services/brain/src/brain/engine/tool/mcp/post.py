"""A call of an MCP server's tool that was found right. Above: `dispatch`. Below: `client`."""

from msgspec import Raw, Struct

from brain.engine.tool.catalog import Binding
from brain.engine.tool.protocol import ToolCall


class McpPost(Struct, frozen=True):
    """`arguments` are the bytes that were checked; `traceparent` is this very call's."""

    call: ToolCall
    binding: Binding
    arguments: Raw
    traceparent: str | None
