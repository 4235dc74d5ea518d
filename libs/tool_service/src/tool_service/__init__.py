"""Write a tool service for Brain in a few lines: an async function with typed arguments is a tool.

    service = ToolService("hello", token_env="HELLO_KEY", port=8090)

    @service.tool("Greet someone by name.")
    async def greet(name: str) -> str:
        return f"Hello, {name}!"

    if __name__ == "__main__":
        service.main()

The service speaks Brain's tool protocol and knows nothing else of Brain.
"""

from tool_service.answer import Pace
from tool_service.app import Limits
from tool_service.call import Call
from tool_service.command import Command
from tool_service.resource import CannotServe
from tool_service.result import Image, Result, ToolError, UnknownOutcome
from tool_service.service import ToolService

__all__ = [
    "Call",
    "CannotServe",
    "Command",
    "Image",
    "Limits",
    "Pace",
    "Result",
    "ToolError",
    "ToolService",
    "UnknownOutcome",
]
