"""The tools of the example server. Above: the command line. Below: `inspect`, `tool_service`."""

from typing import Annotated

from msgspec import Meta

from local_tools.inspect import REPORT, report
from tool_service import Call, Result, ToolService

KEY = "BRAIN_TOOLS_KEY"
service = ToolService("local-tools", token_env=KEY, port=8081)


@service.tool("Echo text through an external tool service.")
async def echo(text: Annotated[str, Meta(max_length=4096)]) -> str:
    """Say the text back."""
    return text


@service.tool(
    "Report what has happened in this session: its events, counted by type, and the last of them.",
    output_schema=REPORT,
    inspect_session=True,
)
async def inspect_session(call: Call, last: Annotated[int, Meta(ge=1, le=100)] = 10) -> Result:
    """Read the session with the call's own token."""
    return await report(call, last)


def main() -> None:
    """Run `brain-local-tools`."""
    service.main()
