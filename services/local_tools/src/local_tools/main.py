"""The tools of the example server. Above: the command line. Below: `tool_service`."""

from typing import Annotated

from msgspec import Meta

from tool_service import ToolService

KEY = "BRAIN_TOOLS_KEY"
service = ToolService("local-tools", token_env=KEY, port=8081)


@service.tool("Echo text through an external tool service.")
async def echo(text: Annotated[str, Meta(max_length=4096)]) -> str:
    """Say the text back."""
    return text


def main() -> None:
    """Run `brain-local-tools`."""
    service.main()
