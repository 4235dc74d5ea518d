"""What the conformance suite runs: Brain's own parts, from a list of tools to the call of each.

`python conformance_client.py URL`. It ends with 0 if every tool gave a result.
"""

import asyncio
import os
import sys

import msgspec
from msgspec import Raw, Struct

from brain.engine.tool.mcp.listing import list_tools
from brain_testing.tool_driver import ToolDriver, binding, start

ARGUMENTS = {"add_numbers": '{"a":5,"b":3}'}


class Listed(Struct, rename="camel"):
    name: str
    input_schema: Raw


async def main(url: str) -> int:
    listing = await list_tools(url, None, os.environ)
    if isinstance(listing, str):
        sys.stderr.write(listing)
        return 1
    tools = [msgspec.json.decode(each, type=Listed) for each in listing.tools]
    async with ToolDriver() as driver:
        caller = driver.caller(
            *(
                binding(url, name=each.name, mcp_tool=each.name, input_schema=each.input_schema)
                for each in tools
            )
        )
        results = [
            await start(caller, ARGUMENTS.get(each.name, "{}"), name=each.name).result()
            for each in tools
        ]
    sys.stderr.write(repr(results))
    return int(any(result.is_error for result in results))


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))
