"""The sandbox service. Above: `main`. Below: `registry`, `tool_service`."""

from tool_service import ToolService

KEY = "BRAIN_SANDBOX_KEY"
PORT = 8082


def make_service() -> ToolService:
    """The service on its own port, with its own token."""
    return ToolService("sandbox", token_env=KEY, port=PORT)
