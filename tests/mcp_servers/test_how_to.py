"""`docs/how-to/mcp.md` is true, with the server that it names, from the first command to the last.

Then a whole Brain with that server: progress, an image, and an interrupt that reaches it.
"""

import asyncio
import json
import os
import re
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from brain_testing.api import Api
from brain_testing.commands import BIN, Command, clean_env, finished, free_ports, running
from brain_testing.mcp_session import interrupted, progress, results, turn
from brain_testing.running import Setup, running_brain

pytestmark = pytest.mark.requirement("MCP-06")

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/mcp.md").read_text("utf-8")
SERVERS = ROOT / "tools/mcp-servers"
COMMANDS, SHOWN = (
    re.findall(rf"```{language}\n(.*?)\n```", PAGE, re.DOTALL) for language in ("sh", "text")
)


@asynccontextmanager
async def everything(command: str) -> AsyncGenerator[tuple[Command, str]]:
    """The server, started as the page says, from the folder where npm has put it."""
    (port,) = free_ports(1)
    env = {**clean_env(PORT=str(port)), "npm_config_offline": "true"}
    process = await asyncio.create_subprocess_exec(
        *command.split(),
        cwd=SERVERS,
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,  # npx starts a shell, which starts the server
    )
    server = Command(process)
    try:
        await server.says(f"listening on port {port}")
        yield server, f"http://127.0.0.1:{port}/mcp"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        await server.ends()


async def test_five_commands_lead_to_a_call(tmp_path: Path) -> None:
    serve, up, merge, again, chat = COMMANDS[:5]
    assert up == again == "brain up"
    env = {**clean_env(), "PATH": f"{BIN}:{clean_env()['PATH']}"}
    port, tools_port = map(str, free_ports(2))
    first = (*up.split(), "--port", port, "--tools-port", tools_port)

    async with everything(serve) as (_, url):
        async with running(*first, folder=tmp_path, env=env) as brain:
            await brain.says("Stop it:")
            assert await brain.stop() in (0, 130)
        merging = merge.replace("http://127.0.0.1:3001/mcp", url)
        assert merging != merge
        code, said = await finished("bash", "-c", merging, folder=tmp_path, env=env)
        assert code == 0, said
        assert "demo_get_sum: new." in said
        async with running(*again.split(), folder=tmp_path, env=env) as brain:
            await brain.says("Stop it:")
            code, said = await finished("bash", "-c", chat, folder=tmp_path, env=env)
            assert code == 0, said
            assert said.strip() == SHOWN[0]
        again_merging = merging.replace(" --yes", "")
        code, said = await finished("bash", "-c", again_merging, folder=tmp_path, env=env)
        assert (code, "as they are now" in said) == (0, True), said


@pytest.mark.requirement("MCP-03", "MCP-04")
async def test_a_session_uses_every_kind_of_tool(tmp_path: Path) -> None:
    async with everything(COMMANDS[0]) as (server, url):
        discover = f"{BIN}/brain mcp discover {url} 2>said"
        code, printed = await finished("bash", "-c", discover, folder=tmp_path)
        assert code == 0, printed
        tools = json.loads(printed)
        names = [tool["name"] for tool in tools]
        async with running_brain(Setup(tools=tools)) as brain, Api(brain.url, brain.key) as api:
            calls = ('echo {"message":"hi"}', 'get_sum {"a":1,"b":2}', "get_tiny_image {}")
            found = results(await turn(api, *calls, tools=names))
            assert found["echo"]["content"][0]["text"] == "Echo: hi"
            assert "3" in found["get_sum"]["content"][0]["text"]
            assert "image" in [block["type"] for block in found["get_tiny_image"]["content"]]

            long = "trigger_long_running_operation "
            seen = await turn(api, long + '{"duration":0.4,"steps":4}', tools=names)
            assert progress(seen) == [{"progress": n, "total": 4} for n in (1, 2, 3, 4)]

            ended = await interrupted(api, long + '{"duration":300,"steps":1000}', tools=names)
            assert (ended["code"], ended["unknown_outcome"]) == ("interrupted", True)
            # The first one to end was `discover`'s; the others end with Brain.
            await server.says("Received session termination request", times=2)
            (_, last) = server.said.rsplit("Session initialized", 1)
            posts = last.partition("termination")[0].count("Received MCP POST request")
            assert posts == 3, "the session's start, the call, and that it is cancelled"
