"""Brain's commands as a user runs them: real processes, read line by line. Above: tests of the
command line and of the docs.
"""

import asyncio
import os
import random
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2

BIN = Path(sys.executable).parent
_WAIT_SECONDS = 45


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, all different.

    They are below those that the system gives to clients, so that no connection of another test
    takes one before it is used.
    """
    found: set[int] = set()
    while len(found) < count:
        port = random.randint(20_000, 29_999)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                found.add(port)
    return list(found)


def clean_env(**more: str) -> dict[str, str]:
    """This environment without any key of Brain or of a model provider."""
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("BRAIN_") and not name.endswith("_API_KEY")
    }
    return {**env, "PYTHONUNBUFFERED": "1", **more}


class Command:
    """A command that runs. `said` is all that it has printed so far, both kinds."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.said = ""
        self.pid = process.pid

    async def says(self, text: str, times: int = 1) -> None:
        """Return once it has printed this so often. Fails if it ends, or after a long time."""
        assert self._process.stdout is not None
        async with asyncio.timeout(_WAIT_SECONDS):
            while self.said.count(text) < times:
                raw = await self._process.stdout.readline()
                assert raw, f"it ended without saying {text!r}:\n{self.said}"
                self.said += raw.decode()

    async def ends(self) -> int:
        """Its exit code, once it has ended by itself."""
        assert self._process.stdout is not None
        async with asyncio.timeout(_WAIT_SECONDS):
            self.said += (await self._process.stdout.read()).decode()
            return await self._process.wait()

    async def type(self, text: str) -> None:
        """Give it input."""
        assert self._process.stdin is not None
        self._process.stdin.write(text.encode())
        await self._process.stdin.drain()

    async def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Send it a signal and wait for its end."""
        self._process.send_signal(number)
        return await self.ends()

    async def end_anyway(self) -> None:
        """Whatever it does, it is gone afterwards, and has had time to take others with it."""
        if self._process.returncode is None:
            self._process.terminate()
            try:
                await self.ends()
            except TimeoutError:
                self._process.kill()
                await self._process.wait()


@asynccontextmanager
async def running(
    *command: str, folder: Path, env: Mapping[str, str] | None = None
) -> AsyncGenerator[Command]:
    """A command that runs in a folder while the block does."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env=clean_env() if env is None else env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        limit=4 * 1024 * 1024,
    )
    running_command = Command(process)
    try:
        yield running_command
    finally:
        await running_command.end_anyway()


async def answers(http: httpx2.AsyncClient, path: str = "/healthz") -> None:
    """Return once a server that was just started answers that all is well."""
    async with asyncio.timeout(_WAIT_SECONDS):
        while True:
            try:
                if (await http.get(path)).status_code == 200:
                    return
            except httpx2.ConnectError:
                pass
            await asyncio.sleep(0.05)  # another process tells no events


async def finished(
    *command: str, folder: Path, env: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """A command that runs to its end: its exit code and all that it printed."""
    async with running(*command, folder=folder, env=env) as started:
        return await started.ends(), started.said


@asynccontextmanager
async def brain_up(folder: Path) -> AsyncGenerator[tuple[Command, int]]:
    """`brain up` in a folder, on free ports, once it is ready; gives it and the API's port."""
    port, tools_port = free_ports(2)
    ports = ("--port", str(port), "--tools-port", str(tools_port))
    async with running(str(BIN / "brain"), "up", *ports, folder=folder) as up:
        await up.says("Stop it:")
        yield up, port
