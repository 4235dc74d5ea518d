"""`brain up`: everything on one machine, by one command."""

import asyncio
import json
import os
import signal
import socket
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from brain_testing.commands import BIN, brain_up, clean_env, finished, free_ports, running

pytestmark = pytest.mark.xdist_group("commands")
BRAIN = str(BIN / "brain")


def alive(pids: Iterable[int]) -> list[int]:
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


async def all_gone(pids: list[int]) -> None:
    async with asyncio.timeout(30):
        while alive(pids):
            await asyncio.sleep(0.05)  # orphans tell nobody when they end


def children_of(pid: int) -> Iterator[tuple[int, str]]:
    """Pid and command line of each process that this one started."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                status = (folder / "status").read_text()
                command = (folder / "cmdline").read_text().replace("\0", " ")
            except (FileNotFoundError, ProcessLookupError):
                continue
            if f"\nPPid:\t{pid}\n" in status:
                yield int(folder.name), command


def serving(pid: int) -> list[int]:
    """The services that a supervisor has started; what prints bindings is none."""
    return [child for child, command in children_of(pid) if "--listen" in command]


async def test_the_first_start_makes_private_keys_and_tells_where(tmp_path: Path) -> None:
    async with brain_up(tmp_path) as (up, port):
        home = tmp_path / ".brain"
        key = (home / "api_key").read_text().strip()
        modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in home.iterdir()}
        assert f"http://127.0.0.1:{port}" in up.said
        assert ".brain/api_key" in up.said
        assert key not in up.said
        assert len(key) >= 32
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        own = {modes.pop(name) for name in ("engine.sock", "tools")}
        assert own == {0o700}
        assert set(modes.values()) == {0o600}
        assert await up.stop(signal.SIGINT) == 0
        assert key not in up.said


async def test_a_later_start_uses_what_the_first_one_made(tmp_path: Path) -> None:
    async with brain_up(tmp_path) as (up, _):
        key = (tmp_path / ".brain/api_key").read_text()
        await up.stop()
    async with running(BRAIN, "up", folder=tmp_path) as again:
        await again.says("Stop it:")
        assert (tmp_path / ".brain/api_key").read_text() == key


async def test_the_tools_are_not_told_the_api_key(tmp_path: Path) -> None:
    async with brain_up(tmp_path) as (up, _):
        (tools,) = [pid for pid, command in children_of(up.pid) if "local-tools" in command]
        environment = Path(f"/proc/{tools}/environ").read_text().split("\0")
        names = {each.partition("=")[0] for each in environment}

    assert "BRAIN_TOOLS_KEY" in names
    assert "BRAIN_API_KEY" not in names


async def test_a_second_start_in_the_same_home_is_one_clear_line(tmp_path: Path) -> None:
    async with brain_up(tmp_path):
        code, said = await finished(BRAIN, "up", folder=tmp_path)

    assert (code, said) == (1, "brain up: another `brain up` is running with .brain.\n")


async def test_ctrl_c_while_it_starts_stops_what_has_started(tmp_path: Path) -> None:
    port, tools_port = free_ports(2)
    ports = ("--port", str(port), "--tools-port", str(tools_port))
    async with running(BRAIN, "up", *ports, folder=tmp_path) as up:
        async with asyncio.timeout(30):
            while not (started := serving(up.pid)):
                await asyncio.sleep(0.01)  # nothing is said before all are ready
        assert await up.stop(signal.SIGINT) == 0

    assert "Traceback" not in up.said
    assert alive(started) == []


async def test_ctrl_c_leaves_no_process_behind(tmp_path: Path) -> None:
    async with brain_up(tmp_path) as (up, _):
        started = list(children_of(up.pid))
        assert len(started) == 3
        assert await up.stop(signal.SIGINT) == 0

    assert alive(pid for pid, _ in started) == []


@pytest.mark.parametrize("name", ["engine", "edge", "tools"])
async def test_a_service_that_dies_is_named_and_takes_the_others_with_it(
    tmp_path: Path, name: str
) -> None:
    mark = {"engine": "--role engine", "edge": "--role edge", "tools": "local-tools"}[name]
    async with brain_up(tmp_path) as (up, _):
        started = list(children_of(up.pid))
        (victim,) = [pid for pid, command in started if mark in command]
        os.kill(victim, signal.SIGKILL)
        assert await up.ends() == 1

    assert f"brain: {name}: stopped by itself" in up.said.splitlines()[-1]
    assert alive(pid for pid, _ in started) == []


async def test_a_supervisor_that_is_killed_takes_the_others_with_it(tmp_path: Path) -> None:
    async with brain_up(tmp_path) as (up, _):
        started = [pid for pid, _ in children_of(up.pid)]
        await up.stop(signal.SIGKILL)
        await all_gone(started)


@pytest.mark.parametrize("option", ["--port", "--tools-port"])
async def test_a_port_in_use_is_one_clear_line_and_can_be_chosen_anew(
    tmp_path: Path, option: str
) -> None:
    (other_port,) = free_ports(1)
    other = {"--port": "--tools-port", "--tools-port": "--port"}[option]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ports = (option, port, other, str(other_port))
        code, said = await finished(BRAIN, "up", *ports, folder=tmp_path)

    assert code == 1
    assert len(said.splitlines()) == 1
    assert f"127.0.0.1:{port} is in use" in said
    assert option in said
    assert not (tmp_path / ".brain/brain.json").exists(), "the next start would go by it"


@pytest.mark.parametrize(
    "ports", [("--port", "0"), ("--port", "65536"), ("--port", "x"), ("--tools-port", "8080")]
)
async def test_a_port_of_no_use_is_refused(tmp_path: Path, ports: tuple[str, ...]) -> None:
    code, said = await finished(BRAIN, "up", *ports, folder=tmp_path)

    assert code == 2
    assert "port" in said.splitlines()[-1]
    assert not (tmp_path / ".brain/brain.json").exists()


async def test_a_port_in_use_at_a_later_start_is_one_clear_line(tmp_path: Path) -> None:
    home = tmp_path / ".brain"
    home.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        (home / "brain.json").write_text(json.dumps({"listen": listen}))
        code, said = await finished(BRAIN, "up", folder=tmp_path)

    assert code == 1
    assert said == (
        f"brain: edge: {listen} is in use. Stop what listens there, or choose another address at "
        "/listen in .brain/brain.json.\n"
    )


@pytest.mark.parametrize("ports", [("--port", "1"), ("--tools-port", "1")])
async def test_an_option_that_contradicts_the_config_is_said(
    tmp_path: Path, ports: tuple[str, str]
) -> None:
    home = tmp_path / ".brain"
    home.mkdir()
    (home / "brain.json").write_text("{}")
    code, said = await finished(BRAIN, "up", *ports, folder=tmp_path)

    assert code == 2
    assert len(said.splitlines()) == 1
    assert f"{' '.join(ports)} contradicts .brain/brain.json" in said


async def test_a_home_that_can_not_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, said = await finished(BRAIN, "up", "--home", "file/home", folder=tmp_path)

    assert code == 1
    assert len(said.splitlines()) == 1


async def test_a_broken_config_is_said_with_its_pointer(tmp_path: Path) -> None:
    home = tmp_path / ".brain"
    home.mkdir()
    (home / "brain.json").write_text('{"listen": "nowhere"}')
    code, said = await finished(BRAIN, "up", folder=tmp_path)

    assert code == 1
    assert said.startswith("/listen: ")


async def test_a_home_with_a_long_and_odd_path_works_all_the_same(tmp_path: Path) -> None:
    deep = tmp_path / ("a" * 60) / ("it's a path " * 6)
    deep.mkdir(parents=True)
    port, tools_port = free_ports(2)
    options = ("--home", f"{deep}/h", "--port", str(port), "--tools-port", str(tools_port))
    async with running(BRAIN, "up", *options, folder=tmp_path) as up:
        await up.says("Stop it:")
        (line,) = [line for line in up.said.splitlines() if "curl -s" in line]
        pasted = line[line.index("curl") :] + " --fail"
        code, said = await finished("bash", "-c", pasted, folder=tmp_path)
        assert code == 0, said
        assert await up.stop() == 0
    engine: str = json.loads((deep / "h/brain.json").read_text())["engine"]["listen"]
    Path(engine.removeprefix("unix:")).parent.rmdir()


async def test_a_key_of_the_environment_wins(tmp_path: Path) -> None:
    port, tools_port = free_ports(2)
    env = clean_env(BRAIN_API_KEY="the-key-that-the-user-has-set")
    ports = ("--port", str(port), "--tools-port", str(tools_port))
    async with running(BRAIN, "up", *ports, folder=tmp_path, env=env) as up:
        await up.says("Stop it:")
        assert '-H "Authorization: Bearer $BRAIN_API_KEY"' in up.said
        async with running(BRAIN, "chat", folder=tmp_path, env=env) as chat:
            await chat.type("hi\n/exit\n")
            assert await chat.ends() == 0
        code, said = await finished(BRAIN, "chat", folder=tmp_path)
        assert code == 1, "the key in the home isn't the one that counts"
        assert len(said.splitlines()) == 1
