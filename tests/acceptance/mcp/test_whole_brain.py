"""A whole Brain with an MCP server: discovered, called, interrupted (MCP-01 to MCP-04)."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from brain_testing.api import Api
from brain_testing.commands import BIN, finished
from brain_testing.mcp_session import interrupted, progress, results, turn
from brain_testing.mcp_workshop import open_workshop
from brain_testing.running import Setup, running_brain

pytestmark = pytest.mark.xdist_group("commands")


async def discovered(url: str, folder: Path) -> list[dict[str, Any]]:
    code, said = await finished(str(BIN / "brain"), "mcp", "discover", url, folder=folder)
    assert code == 0, said
    return json.loads(said)


@pytest.mark.requirement("MCP-01", "MCP-02", "MCP-03", "MCP-04")
async def test_what_was_discovered_is_called_and_an_interrupt_reaches_the_server(
    tmp_path: Path,
) -> None:
    async with open_workshop() as (workshop, url):
        tools = await discovered(url, tmp_path)
        assert len(tools) == 8
        names = [tool["name"] for tool in tools]
        async with running_brain(Setup(tools=tools)) as brain, Api(brain.url, brain.key) as api:
            seen = await turn(
                api, 'echo {"text":"hi"}', 'add {"a":1,"b":2}', "picture {}", tools=names
            )
            found = results(seen)
            assert found["echo"]["content"] == [{"type": "text", "text": "hi"}]
            assert found["add"]["structured_content"] == {"total": 3}
            assert found["picture"]["content"][0]["type"] == "image"

            seen = await turn(api, 'count {"to":3}', tools=names)
            assert progress(seen) == [{"progress": n, "total": 3} for n in (1, 2, 3)]

            ended = await interrupted(api, "work {}", tools=names)
            assert (ended["code"], ended["unknown_outcome"]) == ("interrupted", True)
            async with asyncio.timeout(20):
                await workshop.cancelled.wait()


LOADS = "import sys, brain.wiring; sys.exit('mcp' in sys.modules)"


@pytest.mark.requirement("MCP-01")
async def test_an_engine_without_such_a_tool_never_loads_the_sdk(tmp_path: Path) -> None:
    code, said = await finished(sys.executable, "-c", LOADS, folder=tmp_path)
    assert code == 0, said
