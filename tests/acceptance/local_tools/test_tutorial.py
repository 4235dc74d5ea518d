"""The tutorial on approvals is true: its commands are run, in its order, and say what it shows."""

import json
import re
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx2
import pytest

from brain_testing.commands import BIN, answers, brain_up, clean_env, finished, free_ports, running

ROOT = Path(__file__).parents[3]
TUTORIAL = (ROOT / "docs/tutorial/approvals.md").read_text()
COMMANDS = re.findall(r"```sh\n(.*?)```", TUTORIAL, re.DOTALL)
SHOWN = re.findall(r"```text\n(.*?)```", TUTORIAL, re.DOTALL)
pytestmark = [
    pytest.mark.requirement("LOCAL-01", "LOCAL-02"),
    pytest.mark.xdist_group("commands"),
]


class Shell:
    """Runs the tutorial's commands in a folder where Brain is up."""

    def __init__(self, folder: Path, api: int, tools: str) -> None:
        self._folder = folder
        self._tools = tools
        self.env = clean_env(BRAIN_URL=f"http://127.0.0.1:{api}")

    def pasted(self, containing: str, call_id: str = "") -> tuple[str, ...]:
        """The block that has this in it, as it must read here."""
        (block,) = [each for each in COMMANDS if containing in each]
        script = (
            block.replace(".venv/bin/", f"{BIN}/")
            .replace("examples/", f"{ROOT}/examples/")
            .replace("http://127.0.0.1:8081", self._tools)
            .replace(" approvals ", f" approvals --url {self._tools} ")
            .replace("CALL_ID", call_id)
        )
        return "bash", "-euo", "pipefail", "-c", script

    async def run(self, containing: str, call_id: str = "") -> str:
        code, said = await finished(
            *self.pasted(containing, call_id), folder=self._folder, env=self.env
        )
        assert code == 0, said
        return said


@pytest.fixture
async def shell(tmp_path: Path) -> AsyncGenerator[Shell]:
    async with brain_up(tmp_path) as (up, port):
        (tools,) = re.findall(r"Answer approvals: +(\S+)/ with", up.said)
        yield Shell(tmp_path, port, tools)


@pytest.mark.parametrize("example", ["examples/session.py", "examples/session.mjs"])
async def test_an_agent_asks_and_goes_on_with_the_answer_of_the_terminal(
    shell: Shell, tmp_path: Path, example: str
) -> None:
    command = list(shell.pasted("BRAIN_TOOLS="))
    if example.endswith(".mjs"):
        command[-1] = re.sub(r"\S+/python (\S+)session\.py", r"node \1session.mjs", command[-1])
    async with running(*command, folder=tmp_path, env=shell.env) as agent:
        await agent.says("waiting_for_operator")
        listed = await shell.run("approvals list")
        (call_id,) = re.findall(r"call_\w+", listed)
        assert "Send the weekly report" in listed
        answered = await shell.run("approvals yes", call_id)
        assert answered == "Answered yes, as operator: Send the weekly report\n"
        assert await agent.ends() == 0, agent.said
    said = agent.said.replace('":"', '": "').replace('","', '", "')
    for line in (*SHOWN[0].splitlines(), *SHOWN[1].splitlines()):
        assert line in said
    assert "Comment: Go ahead." in said

    (entry,) = (json.loads(line) for line in (await shell.run("approvals log")).splitlines())
    assert (entry["operator"], entry["answer"], entry["call_id"]) == ("operator", "yes", call_id)


async def test_an_answer_by_http_with_the_key_that_the_first_start_made(
    shell: Shell, tmp_path: Path
) -> None:
    key = (await shell.run("cat .brain/tools/operator_key\n")).strip()
    assert len(key) >= 32
    async with running(*shell.pasted("BRAIN_TOOLS="), folder=tmp_path, env=shell.env) as agent:
        await agent.says("waiting_for_operator")
        (call_id,) = set(re.findall(r"call_\w+", await shell.run("approvals list")))
        said = await shell.run("OPERATOR=", call_id)
        assert json.loads(said.splitlines()[-1].partition("}]}")[2])["approval"]["status"] == "yes"
        await agent.ends()
    assert "result Operator answered yes." in agent.said


async def test_the_host_config_that_it_prints_is_one_that_brain_takes(tmp_path: Path) -> None:
    (pasted,) = [each for each in COMMANDS if "host-config" in each]
    script = pasted.replace(".venv/bin/", f"{BIN}/")
    code, said = await finished("bash", "-euo", "pipefail", "-c", script, folder=tmp_path)

    assert code == 0, said
    tools = {tool["name"] for tool in json.loads((tmp_path / "brain.json").read_text())["tools"]}
    assert tools == {"echo", "inspect_session", "request_approval"}


async def test_brain_up_uses_the_bindings_of_the_host_config(tmp_path: Path) -> None:
    async with brain_up(tmp_path):
        written = json.loads((tmp_path / ".brain/brain.json").read_text())["tools"]
    url = next(tool["url"] for tool in written if tool["name"] == "echo").removesuffix(
        "/tools/echo"
    )
    command = (str(BIN / "brain-local-tools"), "host-config", "--url", url)
    _, printed = await finished(*command, folder=tmp_path)

    for tool in json.loads(printed)["tools"]:
        assert tool in written


async def test_the_keys_of_more_operators_are_ones_that_the_service_takes(tmp_path: Path) -> None:
    (pasted,) = [each for each in COMMANDS if "APPROVALS_KEYS" in each]
    (port,) = free_ports(1)
    listen = f"--listen 127.0.0.1:{port} --insecure-no-token"
    script = f"{pasted}\necho $APPROVALS_KEYS\nexec {BIN}/brain-local-tools {listen}"
    async with running("bash", "-c", script, folder=tmp_path) as service:
        await service.says("bob=")
        key = service.said.strip().rpartition("=")[2]
        headers = {"Authorization": f"Bearer {key}"}
        url = f"http://127.0.0.1:{port}"
        async with httpx2.AsyncClient(base_url=url, headers=headers, trust_env=False) as http:
            await answers(http)
            assert (await http.get("/approvals")).json() == {"approvals": []}
