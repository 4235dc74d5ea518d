"""The documentation is a whole site: no broken link, no lost page, no config that is wrong."""

import json
import re
from pathlib import Path

import pytest

from brain_testing.api import Api
from brain_testing.commands import BIN, clean_env, finished
from brain_testing.running import RunningBrain

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PROTO = ROOT / "proto/brainapi/session/v1/session_service.proto"
LINKED_BY_THE_PAGE_ON_TOOLS = {
    "how-to/mcp.md": "discover",
    "how-to/tenants-and-keys.md": "inspection_token",
    "tutorial/approvals.md": "request_approval",
}


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)


@pytest.mark.xdist_group("commands")
async def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = (str(BIN / "mkdocs"), "build", "--strict", "--quiet", "--site-dir", str(tmp_path))
    code, said = await finished(*command, folder=ROOT, env=clean_env(NO_MKDOCS_2_WARNING="1"))
    assert (code, said) == (0, "")
    assert "Your first session" in (tmp_path / "tutorial/first-session.html").read_text("utf-8")


def test_what_the_page_on_tools_links_to_is_there() -> None:
    page = (DOCS / "tools.md").read_text("utf-8")
    for target, content in LINKED_BY_THE_PAGE_ON_TOOLS.items():
        assert f"({target})" in page
        assert content in (DOCS / target).read_text("utf-8")


@pytest.mark.parametrize("page", ["tools.md", "how-to/tenants-and-keys.md", "reference/grpc.md"])
async def test_the_configs_pass_the_check(page: str, tmp_path: Path) -> None:
    shown = json.loads(blocks(page, "json")[0])
    document = {"tools": [shown]} if page == "tools.md" else shown
    (tmp_path / "brain.json").write_text(json.dumps(document))
    names = ("BRAIN", "BRAIN_TOOLS", "BRAIN_ENGINE", "ACME", "GLOBEX", "GLOBEX_NEXT")
    keys = {f"{name}_KEY": f"the-long-key-of-{name}" for name in names}
    env = clean_env(BRAIN_API_KEY="the-long-key-of-the-tenant", **keys)
    command = (str(BIN / "brain"), "-config", "brain.json", "-check")
    code, said = await finished(*command, folder=tmp_path, env=env)
    assert code == 0, said


async def test_the_example_of_grpc_creates_a_session_and_follows_it(
    brain: RunningBrain, api: Api, tmp_path: Path
) -> None:
    (example,) = blocks("reference/grpc.md", "python")
    env = clean_env(BRAIN_ENGINE=f"unix:{brain.folder / 'engine.sock'}", BRAIN_ENGINE_KEY="none")
    (tmp_path / "follow.py").write_text(example)
    code, said = await finished(str(BIN / "python"), "follow.py", folder=tmp_path, env=env)
    assert code == 0, said
    assert [line.split()[0] for line in said.splitlines()][-1] == "turn.completed"
    assert "You said: hello" in said
    (session,) = (await api.http.get("/sessions")).json()["sessions"]
    assert session["status"] == "idle"


def test_every_call_of_the_proto_is_on_the_page() -> None:
    calls = re.findall(r"^  rpc (\w+)\(", PROTO.read_text("utf-8"), re.MULTILINE)
    page = (DOCS / "reference/grpc.md").read_text("utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == calls
