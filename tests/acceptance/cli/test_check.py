"""`brain -config FILE -check`, and starting with a config."""

import asyncio
import json
import os
import signal
import socket
from pathlib import Path
from typing import Any

import httpx2
import pytest

from brain_testing.commands import BIN, answers, clean_env, finished, free_ports, running

Json = dict[str, Any]
pytestmark = pytest.mark.xdist_group("commands")
BRAIN = str(BIN / "brain")
ENV = clean_env(BRAIN_API_KEY="a-key-of-more-than-16-characters")
GOOD: Json = {"tools": []}
BAD: Json = {"listen": 5, "tools": [{"name": "1"}], "tenants": []}


def written(folder: Path, document: object) -> str:
    (folder / "brain.json").write_text(json.dumps(document))
    return "brain.json"


@pytest.mark.requirement("CONF-02")
@pytest.mark.parametrize("flags", [("-config", "-check"), ("--config", "--check")])
async def test_a_good_file_is_one_line_that_counts(tmp_path: Path, flags: tuple[str, str]) -> None:
    config, check = flags
    path = written(tmp_path, GOOD)
    code, said = await finished(BRAIN, config, path, check, folder=tmp_path, env=ENV)

    assert code == 0
    assert said == "brain.json: 0 tools, 0 models, 1 tenant\n"
    assert [each.name for each in tmp_path.iterdir()] == ["brain.json"], "it opened a store"


@pytest.mark.requirement("CONF-02")
async def test_a_bad_file_is_every_problem_one_a_line(tmp_path: Path) -> None:
    path = written(tmp_path, BAD)
    code, said = await finished(BRAIN, "-config", path, "-check", folder=tmp_path, env=ENV)

    assert code == 1
    assert [line.split(": ")[0] for line in said.splitlines()] == [
        "/listen",
        "/tenants",
        "/tools/0/description",
        "/tools/0/input_schema",
        "/tools/0/name",
        "/tools/0/tenants",
        "/tools/0/url",
    ]


@pytest.mark.requirement("CONF-03")
async def test_a_bad_file_starts_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, BAD)
    checked = await finished(BRAIN, "-config", path, "-check", folder=tmp_path, env=ENV)
    started = await finished(BRAIN, "-config", path, folder=tmp_path, env=ENV)

    assert started == checked


@pytest.mark.requirement("CONF-03")
async def test_a_good_file_starts_an_engine_and_an_edge(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    path = written(tmp_path, {"listen": f"127.0.0.1:{port}"})
    async with running(BRAIN, "-config", path, folder=tmp_path, env=ENV) as brain:
        await brain.says(f"Brain is ready at http://127.0.0.1:{port}")
        url = f"http://127.0.0.1:{port}"
        async with httpx2.AsyncClient(base_url=url, trust_env=False) as http:
            await answers(http, "/readyz")
        assert await brain.stop() == 0


@pytest.mark.requirement("CONF-12")
@pytest.mark.parametrize("text", ['{"tools": [}', '{"a": 1, "a": 2}', None])
async def test_a_file_that_can_not_be_read_is_one_line(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "brain.json").write_text(text)
    code, said = await finished(BRAIN, "-config", "brain.json", "-check", folder=tmp_path, env=ENV)

    assert code == 1
    assert len(said.splitlines()) == 1


@pytest.mark.requirement("CONF-11")
async def test_a_short_key_is_a_warning_and_no_more(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    env = clean_env(BRAIN_API_KEY="short-key")
    code, said = await finished(BRAIN, "-config", path, "-check", folder=tmp_path, env=env)

    assert code == 0
    assert "warning: /tenants/0/api_keys_env/0: " in said
    assert "short-key" not in said


async def test_no_arguments_say_what_to_do_first(tmp_path: Path) -> None:
    code, said = await finished(BRAIN, folder=tmp_path, env=ENV)

    assert code == 2
    assert "brain up" in said


async def test_the_help_shows_examples_and_exit_codes(tmp_path: Path) -> None:
    code, said = await finished(BRAIN, "--help", folder=tmp_path, env=ENV)

    assert code == 0
    assert "brain -config brain.json -check" in said
    assert "exit codes:" in said


@pytest.mark.parametrize("command", ["up", "chat", "sessions", "events"])
async def test_each_command_has_a_help_with_examples(tmp_path: Path, command: str) -> None:
    code, said = await finished(BRAIN, command, "--help", folder=tmp_path, env=ENV)

    assert code == 0
    assert f"examples:\n  brain {command}" in said


@pytest.mark.parametrize(
    "arguments",
    [
        ("unknown",),
        ("-chek",),
        ("-check",),
        ("--role", "engine"),
        ("--role", "both", "-config", "brain.json"),
        ("-config", "brain.json", "up"),
        ("-config",),
        ("events",),
        ("sessions", "--limit", "-1"),
    ],
    ids=" ".join,
)
async def test_arguments_that_make_no_sense_are_said_in_the_last_line(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    code, said = await finished(BRAIN, *arguments, folder=tmp_path, env=ENV)

    assert code == 2
    assert said.splitlines()[-1].startswith("brain")
    assert ": error: " in said.splitlines()[-1]


@pytest.mark.parametrize("role", ["engine", "edge"])
async def test_one_role_runs_in_the_foreground_until_it_is_told_to_stop(
    tmp_path: Path, role: str
) -> None:
    (port,) = free_ports(1)
    path = written(tmp_path, {"listen": f"127.0.0.1:{port}"})
    async with running(BRAIN, "-config", path, "--role", role, folder=tmp_path, env=ENV) as brain:
        async with asyncio.timeout(40):
            while not listens(tmp_path / ".brain/engine.sock" if role == "engine" else port):
                await asyncio.sleep(0.05)  # it says nothing
        assert await brain.stop(signal.SIGTERM) == 0
        assert brain.said == ""


def listens(where: Path | int) -> bool:
    with socket.socket(socket.AF_INET if isinstance(where, int) else socket.AF_UNIX) as probe:
        target = ("127.0.0.1", where) if isinstance(where, int) else os.path.relpath(where)
        return probe.connect_ex(target) == 0


@pytest.mark.parametrize(
    ("role", "config", "says"),
    [
        ("engine", {"store": "sqlite:///file/brain.db"}, "brain: engine: "),
        ("engine", {"engine": {"listen": "unix:file/engine.sock"}}, "brain: engine: "),
        ("edge", {"listen": "192.0.2.1:8080"}, "brain: edge: "),
    ],
)
async def test_a_role_that_can_not_start_says_why_in_one_line(
    tmp_path: Path, role: str, config: Json, says: str
) -> None:
    (tmp_path / "file").touch()
    command = (BRAIN, "-config", written(tmp_path, config), "--role", role)
    code, said = await finished(*command, folder=tmp_path, env=ENV)

    assert code == 1
    assert said.startswith(says)
    assert len(said.splitlines()) == 1


async def test_a_second_engine_on_the_same_log_is_one_clear_line(tmp_path: Path) -> None:
    path = written(tmp_path, {"listen": f"127.0.0.1:{free_ports(1)[0]}"})
    async with running(BRAIN, "-config", path, folder=tmp_path, env=ENV) as brain:
        await brain.says("Brain is ready")
        engine = (BRAIN, "-config", path, "--role", "engine")
        code, said = await finished(*engine, folder=tmp_path, env=ENV)

    assert code == 1
    assert len(said.splitlines()) == 1
    assert "Another Brain is using" in said


@pytest.mark.requirement("CONF-03", "TOOL-07")
@pytest.mark.parametrize("role", [(), ("--role", "engine")], ids=["both", "engine"])
async def test_a_proxy_variable_of_no_use_is_one_clear_line(
    tmp_path: Path, role: tuple[str, ...]
) -> None:
    (port,) = free_ports(1)
    path = written(tmp_path, {**GOOD, "listen": f"127.0.0.1:{port}"})
    env = {**ENV, "HTTPS_PROXY": "socks5://user:hunter2@proxy:1080"}
    code, said = await finished(BRAIN, "-config", path, *role, folder=tmp_path, env=env)

    assert code == 1
    assert "HTTPS_PROXY is not the URL of an http or https proxy" in said.splitlines()[-1]
    assert "Traceback" not in said
    assert "hunter2" not in said
