"""The tutorials on the first session and the first tool are true: what they show happens."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from brain_testing.commands import BIN, answers, brain_up, clean_env, free_ports
from brain_testing.desk import within

DOCS = Path(__file__).parents[3] / "docs"
_END = "--end-of-block--"
pytestmark = pytest.mark.xdist_group("commands")


def blocks(page: str) -> list[tuple[str, str]]:
    """A page's blocks in order: a language and a text; `save NAME` is the language of a file."""
    text = (DOCS / page).read_text("utf-8")
    found: list[tuple[str, str]] = []
    for match in re.finditer(r"```(\w+)\n(.*?)```", text, re.DOTALL):
        named = re.search(r"[Ss]ave this as `([^`]+)`[^`]*$", text[: match.start()])
        saved = f"save {named[1]}" if match[1] == "python" and named else match[1]
        found.append((saved, match[2]))
    return found


def is_shown(shown: str, said: str) -> bool:
    """Whether output is what a page shows; `…` there stands for anything on a line."""
    pattern = re.escape(shown.strip()).replace("…", "[^\n]*")
    return re.search(rf"^[^\n\S]*{pattern}", said, re.MULTILINE) is not None


class Shell:
    """A shell into which one pastes block after block."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def paste(self, block: str) -> str:
        """What a block prints."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(f"{block}\necho {_END}\n".encode())
        said = await within(stdout.readuntil(f"{_END}\n".encode()))
        return said.decode().removesuffix(f"{_END}\n")


@asynccontextmanager
async def shell(folder: Path, **env: str) -> AsyncGenerator[Shell]:
    """A shell in a folder, whose `.venv` is this one; its children end with it."""
    (folder / ".venv").symlink_to(BIN.parent)
    process = await asyncio.create_subprocess_exec(
        "bash",
        cwd=folder,
        env=clean_env(**env),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield Shell(process)
    finally:
        assert process.stdin is not None
        process.stdin.write(b"kill $(jobs -p) 2>/dev/null; wait; exit\n")
        await within(process.wait())


async def test_the_first_session(tmp_path: Path) -> None:
    async with (
        brain_up(tmp_path) as (_, port),
        shell(tmp_path, BRAIN_URL=f"http://127.0.0.1:{port}") as terminal,
    ):
        said, seen = "", 0
        for kind, block in blocks("tutorial/first-session.md"):
            if kind.startswith("save "):
                (tmp_path / kind.removeprefix("save ")).write_text(block)
            elif kind == "sh" and "make run" not in block:
                said = await terminal.paste(block)
            elif kind == "text":
                assert is_shown(block, said), said
                seen += 1
    assert seen == 4


async def test_the_first_tool(tmp_path: Path) -> None:
    tool, api = free_ports(2)
    urls = {"8090": str(tool), "shop.py &": f"shop.py --listen 127.0.0.1:{tool} >shop.log 2>&1 &"}
    async with (
        shell(tmp_path, BRAIN_URL=f"http://127.0.0.1:{api}") as terminal,
        httpx2.AsyncClient(trust_env=False) as http,
    ):
        said, seen = "", 0
        for kind, block in blocks("tutorial/first-tool.md"):
            if kind.startswith("save "):
                (tmp_path / kind.removeprefix("save ")).write_text(block)
            elif kind == "sh":
                for old, new in urls.items():
                    block = block.replace(old, new)  # noqa: PLW2901 (the same block, elsewhere)
                block = block.replace("brain.json &", "brain.json >brain.log 2>&1 &")  # noqa: PLW2901
                said = await terminal.paste(block)
                if "host-config" in block:
                    config = tmp_path / "brain.json"
                    text = config.read_text().replace("8090", str(tool))
                    listen = f'{{"listen": "127.0.0.1:{api}", '
                    config.write_text(text.replace("{", listen, 1))
                if "brain.log" in block:
                    await answers(http, f"http://127.0.0.1:{tool}/healthz")
                    await answers(http, f"http://127.0.0.1:{api}/readyz")
            elif kind == "text":
                assert is_shown(block, said), said
                seen += 1
    assert seen == 4
