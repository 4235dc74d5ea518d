"""The README is true: its commands are run, and do what it shows."""

import json
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import pytest

from brain_testing.commands import BIN, Command, brain_up, finished

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
pytestmark = pytest.mark.xdist_group("commands")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def events_in(stream: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: ")]


def shape_of(value: Any) -> object:
    """A JSON value without what differs each time: names and types, not ids and times."""
    if isinstance(value, dict):
        return {key: shape_of(inner) for key, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [shape_of(inner) for inner in cast("list[Any]", value)]
    return type(value).__name__


@pytest.fixture
async def up(tmp_path: Path) -> AsyncGenerator[tuple[Command, int]]:
    async with brain_up(tmp_path) as started:
        yield started


def test_the_first_screen_says_how_to_run_and_how_to_test() -> None:
    first_screen = "\n".join(README.splitlines()[:25])

    assert "make run" in first_screen
    assert "make test" in first_screen
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^run:", makefile, re.MULTILINE)
    assert re.search(r"^test:", makefile, re.MULTILINE)


async def test_the_session_works_by_copy_and_paste(up: tuple[Command, int], tmp_path: Path) -> None:
    (pasted,) = [block for block in blocks("sh") if "curl" in block]
    script = pasted.replace("127.0.0.1:8080", f"127.0.0.1:{up[1]}")
    code, said = await finished("bash", "-euo", "pipefail", "-c", script, folder=tmp_path)

    assert code == 0, said
    (shown,) = [events_in(block) for block in blocks("text") if "tool.result" in block]
    seen = {event.get("seq"): event for event in events_in(said)}
    for event in shown:
        assert shape_of(seen[event["seq"]]) == shape_of(event)
        assert seen[event["seq"]]["type"] == event["type"]
    assert seen[6]["data"]["content"] == shown[-1]["data"]["content"]
    assert max(seq for seq in seen if seq) == 8, "the stream ends when the session is idle"


async def test_the_chat_streams_text_and_shows_the_call(
    up: tuple[Command, int], tmp_path: Path
) -> None:
    assert ".venv/bin/brain chat\n" in blocks("sh")
    chat = f'printf \'hi there\\n/call echo {{"text":"hello"}}\\n\' | {BIN}/brain chat'
    code, said = await finished("bash", "-c", chat, folder=tmp_path)

    assert code == 0, said
    assert said.splitlines() == [
        "You said: hi there",
        '→ echo {"text": "hello"}',
        "← echo: hello",
        "hello",
    ]


async def test_the_curl_line_that_brain_prints_works_when_pasted(
    up: tuple[Command, int], tmp_path: Path
) -> None:
    (line,) = [line for line in up[0].said.splitlines() if "curl -s" in line]
    code, said = await finished("bash", "-c", line[line.index("curl") :], folder=tmp_path)

    assert code == 0, said
    assert json.loads(said)["tools"][0]["name"] == "echo"


def test_every_link_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)

    assert [
        link for link in links if not link.startswith("http") and not (ROOT / link).exists()
    ] == []
