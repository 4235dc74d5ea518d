"""The tools that this server can call. Above: `dispatch`, sessions and the catalog route.

Below: `schema`. Made once, at start, from bindings that the config check has found right.
"""

from collections.abc import Iterable

from msgspec import Raw, Struct

from brain.engine.tool.schema import BadSchema, Schema
from brain_core.session import ToolSpec


class Binding(Struct, frozen=True):
    """Where a tool is and how it is called.

    `token` is None if the tool wants none, and empty if it wants one that isn't there.
    Times are in seconds. `mcp_tool` is the tool's own name on an MCP server.
    """

    name: str
    description: str
    input_schema: Raw
    url: str
    tenants: frozenset[str]
    output_schema: Raw | None = None
    token: str | None = None
    timeout_seconds: float = 300
    max_output_bytes: int = 1_048_576
    inspect_session: bool = False
    mcp_tool: str | None = None

    def spec(self) -> ToolSpec:
        """The tool as the model sees it."""
        return ToolSpec(self.name, self.description, self.input_schema)


class Tool(Struct, frozen=True):
    """A binding with its schemas compiled."""

    binding: Binding
    input: Schema
    output: Schema | None


class Catalog:
    """Bindings by name. A tool of another tenant is as if it weren't there."""

    def __init__(self, bindings: Iterable[Binding]) -> None:
        """Compile the schemas. Raises `BadSchema`, which names the tool."""
        self._tools = {binding.name: _compiled(binding) for binding in bindings}

    @property
    def has_mcp_tools(self) -> bool:
        """Whether any tool is an MCP server's."""
        return any(tool.binding.mcp_tool is not None for tool in self._tools.values())

    def find(self, tenant_id: str, name: str) -> Binding | None:
        """The tool of this name, if the tenant may use it."""
        tool = self.tool(tenant_id, name)
        return None if tool is None else tool.binding

    def of_tenant(self, tenant_id: str) -> tuple[Binding, ...]:
        """Every tool that the tenant may use, in the order of the host config."""
        return tuple(
            tool.binding for tool in self._tools.values() if tenant_id in tool.binding.tenants
        )

    def tool(self, tenant_id: str, name: str) -> Tool | None:
        """Like `find`, with the compiled schemas."""
        tool = self._tools.get(name)
        return tool if tool is not None and tenant_id in tool.binding.tenants else None


def _compiled(binding: Binding) -> Tool:
    try:
        output = binding.output_schema
        return Tool(
            binding,
            Schema(bytes(binding.input_schema)),
            None if output is None else Schema(bytes(output)),
        )
    except BadSchema as error:
        raise BadSchema(f"tool {binding.name!r}: {error}") from None
