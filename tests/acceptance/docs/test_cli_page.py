"""`docs/reference/cli.md` and `--help` say the same, and the page's examples work."""

import io
import json
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from brain.cli.arguments import parser
from brain.cli.conversation import HELP
from brain_testing.commands import BIN, brain_up, finished

PAGE = Path(__file__).parents[3] / "docs/reference/cli.md"
SECTIONS = dict(section.split("\n", 1) for section in PAGE.read_text("utf-8").split("\n## ")[1:])


def help_of(*words: str) -> str:
    """What `brain WORDS --help` prints."""
    with redirect_stdout(io.StringIO()) as said, pytest.raises(SystemExit):
        parser().parse_args([*words, "--help"])
    return said.getvalue()


def commands(*words: str) -> Iterator[tuple[str, str]]:
    """Every command that does something, by its whole name, and its help."""
    said = help_of(*words)
    deeper = re.findall(r"^    ([a-z-]+) ", said, re.MULTILINE)
    if not deeper or not words:
        yield " ".join(("brain", *words)), said
    for word in deeper:
        yield from commands(*words, word)


COMMANDS = dict(commands())


def said_by_help(name: str) -> dict[str, bool]:
    """Options and arguments: whether something is given with each."""
    said = COMMANDS[name]
    options = re.findall(
        r"^  (?:-\S+(?: \S+)?, )?(--[a-z-]+)(?: (\S+))?(?:  |$)", said, re.MULTILINE
    )
    positional = re.findall(r"^  ([A-Z]+)  ", said, re.MULTILINE)
    found = {option: bool(takes) for option, takes in options if option != "--help"}
    return {**found, **dict.fromkeys(positional, False)}


def said_by_page(name: str) -> dict[str, bool]:
    table = SECTIONS[name].split("\n\n| Option |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| `(\S+?)(?: (\S+))?` \|", table, re.MULTILINE)
    return {option: bool(takes) for option, takes in rows}


def test_every_command_has_a_section_and_every_section_a_command() -> None:
    assert list(SECTIONS) == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_and_the_help_have_the_same_options(name: str) -> None:
    assert said_by_page(name) == said_by_help(name)


@pytest.mark.parametrize("name", COMMANDS)
def test_choices_are_all_on_the_page(name: str) -> None:
    for choices in re.findall(r"^  --\S+ \{(.*?)\}", COMMANDS[name], re.MULTILINE):
        for choice in choices.split(","):
            assert f"`{choice}`" in SECTIONS[name], choice


def test_the_exit_codes_are_those_of_the_help() -> None:
    page = PAGE.read_text("utf-8").split("\n## ")[0]
    listed = re.findall(r"^\| (\d+) \|", page, re.MULTILINE)

    assert listed == re.findall(r"^  (\d+)  ", COMMANDS["brain"], re.MULTILINE)


def test_what_can_be_typed_in_a_chat_is_on_the_page() -> None:
    for word in re.findall(r"^/\w+", HELP, re.MULTILINE):
        assert f"`{word}`" in SECTIONS["brain chat"] or f"`{word} " in SECTIONS["brain chat"]


def examples(name: str) -> list[str]:
    (block,) = re.findall(r"```sh\n(.*?)```", SECTIONS[name], re.DOTALL)
    return block.strip().splitlines()


@pytest.mark.xdist_group("commands")
async def test_the_examples_work(tmp_path: Path) -> None:
    async def run(line: str) -> str:
        script = f"PATH={BIN}:$PATH; exec </dev/null; {line}"
        code, said = await finished("bash", "-o", "pipefail", "-c", script, folder=tmp_path)
        assert code == 0, f"{line}\n{said}"
        return said

    async with brain_up(tmp_path) as (up, _):
        plain, _, piped = examples("brain chat")
        await run(plain)
        told: list[Any] = [json.loads(line) for line in (await run(piped)).splitlines()]
        assert told[-1]["type"] in ("turn.completed", "session.state")
        session = (await run(*examples("brain sessions"))).split()[0]
        assert session.startswith("ses_")
        assert await run(examples("brain events")[0].replace("SESSION", session))
        assert "demo/script" in await run(*examples("brain usage"))
        assert "ok" in await run(*examples("brain doctor"))
        await run(*examples("brain backup"))
        assert await up.stop() == 0
    await run(*examples("brain restore"))
    (tmp_path / ".brain/brain.json").rename(tmp_path / "brain.json")
    keys = f"BRAIN_API_KEY=$(cat .brain/api_key) BRAIN_TOOLS_KEY={'x' * 20} "
    assert "tools" in await run(f"{keys}{examples('brain')[0]}")
