"""Processes that run while a block does. Above: `brain_process`, `floors`. Below: the kernel."""

import asyncio
import os
import random
import signal
import socket
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from bench.lean_http import Connection

_READY_SECONDS = 20.0
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.005


class DidNotStart(Exception):
    """A process ended, or was not ready in time; the message has the end of its output."""


class Running(NamedTuple):
    """A process, and the file that its output goes to."""

    process: subprocess.Popen[bytes]
    output: Path

    @property
    def pid(self) -> int:
        """The process's id."""
        return self.process.pid


@contextmanager
def running(
    arguments: Sequence[str | Path], folder: Path, env: Mapping[str, str] = os.environ
) -> Generator[Running]:
    """Start a process in this folder; at the end of the block it and its children are stopped."""
    output = folder / f"{Path(arguments[0]).name}-{len(list(folder.glob('*.out')))}.out"
    with output.open("wb") as out:
        process = subprocess.Popen(
            arguments,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield Running(process, output)
    finally:
        _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_STOP_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(_STOP_SECONDS)


async def ready(server: Running, port: int, path: str) -> None:
    """Wait until GET `path` answers 200. Raises: DidNotStart."""
    try:
        async with asyncio.timeout(_READY_SECONDS):
            while not await _answers(port, path):
                if server.process.poll() is not None:
                    raise _did_not_start(server, "ended")
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError as error:
        raise _did_not_start(server, f"was not ready after {_READY_SECONDS:.0f} s") from error


def free_port() -> int:
    """A port of loopback that nobody uses at this moment.

    Below those that the kernel gives to clients, so that no connection takes it in between.
    """
    while True:
        port = random.randrange(20_000, 30_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


async def _answers(port: int, path: str) -> bool:
    try:
        connection = await Connection.open(port)
    except OSError:
        return False
    try:
        return (await connection.get(path)).status == 200
    except (OSError, EOFError):
        return False
    finally:
        connection.close()


def _did_not_start(server: Running, what: str) -> DidNotStart:
    end = server.output.read_text(encoding="utf-8", errors="replace")[-2000:]
    return DidNotStart(f"{server.output.name} {what}. The end of its output:\n{end}")
