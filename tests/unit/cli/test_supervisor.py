"""The supervisor over small processes of every bad habit. Each test runs it as a process."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from brain_testing.commands import Command, running

SUPERVISOR = """
import asyncio, json, sys
from brain.cli.children import Child
from brain.cli.supervisor import Supervisor

children = [Child(*child) for child in json.loads(sys.argv[1])]
sys.exit(asyncio.run(Supervisor(children, lambda: "All ready.", float(sys.argv[2])).run()))
"""
# It listens, so that it is ready, and says "stopped" when it is told to stop.
GOOD = """
import pathlib, signal, socket, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
pathlib.Path(sys.argv[1]).unlink(missing_ok=True)
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(sys.argv[1])
    listener.listen()
    signal.sigwait({signal.SIGTERM})
print("stopped", flush=True)
"""
# It never listens and doesn't care for SIGTERM.
STUBBORN = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
while True:
    signal.pause()
"""
LONG_SECONDS = 1000.0


def good(name: str) -> list[object]:
    return [name, [sys.executable, "-c", GOOD, f"{name}.sock"], f"unix:{name}.sock"]


def python(name: str, code: str) -> list[object]:
    return [name, [sys.executable, "-c", code], f"unix:{name}.sock"]


def shell(name: str, script: str) -> list[object]:
    return [name, ["sh", "-c", script], f"unix:{name}.sock"]


@asynccontextmanager
async def supervised(
    folder: Path, *children: list[object], grace: float = LONG_SECONDS
) -> AsyncGenerator[Command]:
    arguments = ("-c", SUPERVISOR, json.dumps(children), str(grace))
    async with running(sys.executable, *arguments, folder=folder) as supervisor:
        yield supervisor


async def gone(pid: int) -> None:
    async with asyncio.timeout(30):
        while Path(f"/proc/{pid}/stat").exists() and not zombie(pid):
            await asyncio.sleep(0.05)  # a process that isn't ours tells us nothing


def zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def number_after(word: str, said: str) -> int:
    return int(said.partition(word)[2].split(maxsplit=1)[0])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_stops_all_in_reverse_order(tmp_path: Path, number: signal.Signals) -> None:
    async with supervised(tmp_path, good("one"), good("two")) as supervisor:
        await supervisor.says("All ready.")
        assert await supervisor.stop(number) == 0

    assert supervisor.said.splitlines() == ["All ready.", "two | stopped", "one | stopped"]


async def test_one_that_dies_is_named_with_its_last_words_and_stops_the_others(
    tmp_path: Path,
) -> None:
    dying = shell("two", "echo some words; echo brain: two: last words; exit 3")
    async with supervised(tmp_path, good("one"), dying) as supervisor:
        assert await supervisor.ends() == 1

    last = supervisor.said.splitlines()[-1]
    assert last == "brain: two: stopped by itself (exit code 3). last words"


async def test_one_that_is_killed_is_said_by_its_signal(tmp_path: Path) -> None:
    async with supervised(tmp_path, shell("one", "kill -KILL $$")) as supervisor:
        assert await supervisor.ends() == 1

    assert "stopped by itself (killed by SIGKILL)" in supervisor.said


async def test_a_helper_that_a_dead_child_leaves_behind_delays_nobody(tmp_path: Path) -> None:
    async with supervised(tmp_path, shell("one", "sleep 1000 & echo pid $!; exit 3")) as supervisor:
        assert await supervisor.ends() == 1
        await gone(number_after("pid ", supervisor.said))


async def test_one_that_will_not_stop_is_killed(tmp_path: Path) -> None:
    async with supervised(tmp_path, python("one", STUBBORN), grace=0.1) as supervisor:
        await supervisor.says("one | up")
        assert await supervisor.stop() == 0


async def test_a_second_ctrl_c_waits_for_nobody(tmp_path: Path) -> None:
    waiting = python(
        "two", STUBBORN.replace("signal.SIG_IGN", "lambda *_: print('no', flush=True)")
    )
    async with supervised(tmp_path, python("one", STUBBORN), waiting) as supervisor:
        await supervisor.says("one | up")
        await supervisor.says("two | up")
        os.kill(supervisor.pid, signal.SIGINT)
        await supervisor.says("two | no")
        assert await supervisor.stop(signal.SIGINT) == 0


async def test_one_that_can_not_be_started_is_one_clear_line(tmp_path: Path) -> None:
    nowhere: list[object] = ["two", ["/nowhere/at/all"], "unix:two.sock"]
    async with supervised(tmp_path, good("one"), nowhere) as supervisor:
        assert await supervisor.ends() == 1

    last = supervisor.said.splitlines()[-1]
    assert last == "brain: two: can't be started: No such file or directory."


async def test_an_address_in_use_is_found_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        busy: list[object] = ["two", ["true"], address]
        async with supervised(tmp_path, shell("one", "echo started"), busy) as supervisor:
            assert await supervisor.ends() == 1

    assert supervisor.said == (
        f"brain: two: {address} is in use. Stop what listens there, or choose another address.\n"
    )


async def test_a_socket_in_use_is_found_and_one_that_is_left_over_is_not(tmp_path: Path) -> None:
    async with supervised(tmp_path, good("one")) as first:
        await first.says("All ready.")
        async with supervised(tmp_path, good("one")) as second:
            assert await second.ends() == 1
            assert "unix:one.sock is in use" in second.said
    async with supervised(tmp_path, good("one")) as third:
        await third.says("All ready.")


async def test_a_line_of_any_length_and_any_bytes_stops_nothing(tmp_path: Path) -> None:
    script = "head -c 3000000 /dev/zero | tr '\\0' x; echo; printf '\\377\\033[2J\\n'; echo end"
    async with supervised(tmp_path, shell("one", f"{script}; sleep 1000")) as supervisor:
        await supervisor.says("one | end")

    assert "one | \ufffd␛[2J" in supervisor.said


async def test_a_server_goes_on_when_nobody_reads_what_it_says(tmp_path: Path) -> None:
    # More than any pipe holds: it would block if it weren't read, and die if it were passed on.
    chatty = "i=0; while [ $i -lt 5000 ]; do echo line of words $i; i=$((i+1)); done; touch done"
    child = shell("one", f"until [ -e go ]; do sleep 0.05; done; {chatty}; sleep 1000")
    arguments = ("-c", SUPERVISOR, json.dumps([child]), str(LONG_SECONDS))
    reading, writing = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *arguments), cwd=tmp_path, stdout=writing
    )
    os.close(reading)
    os.close(writing)
    (tmp_path / "go").touch()
    async with asyncio.timeout(30):
        while not (tmp_path / "done").exists():
            await asyncio.sleep(0.05)  # another process's file
        process.terminate()
        assert await process.wait() == 0
