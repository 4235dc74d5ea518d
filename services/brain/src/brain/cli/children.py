"""A process of `brain`: how it is started and when it is ready. Above: `supervisor`.

Each is the leader of a process group of its own, so that Ctrl-C reaches only the supervisor, and is
told by the kernel when the supervisor dies, however it dies.
"""

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from brain.cli.address import answer_at, trouble_at

_PR_SET_PDEATHSIG = 1
_POLL_SECONDS = 0.05
_READY_SECONDS = 60.0
_LONGEST_LINE = 1024 * 1024


class Failed(NamedTuple):
    """Why everything stops: one line."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"brain: {self.name}: {self.reason}"


class Running(NamedTuple):
    """A child that was started, and its output, both kinds."""

    process: Process
    output: asyncio.StreamReader
    pipe: asyncio.ReadTransport


class Child(NamedTuple):
    """A process to start. It listens at `listen`.

    It is ready once `ready_path` answers 200 or, without one, once it can be connected to. `env` is
    its whole environment, its parent's unless given. `instead` ends the sentence that says what to
    do when its address is in use.
    """

    name: str
    command: Sequence[str]
    listen: str
    ready_path: str | None = None
    env: Mapping[str, str] | None = None
    instead: str = "choose another address"

    def in_the_way(self) -> Failed | None:
        """What keeps it from listening, found before it is started."""
        trouble = trouble_at(self.listen)
        if trouble is None:
            return None
        return Failed(
            self.name, f"{self.listen} {trouble}. Stop what listens there, or {self.instead}."
        )

    async def start(self) -> Running:
        """Start it. Raises: OSError."""
        # With a pipe of asyncio's own, waiting for the process would be waiting for everyone who
        # holds its output, and it may leave helpers behind.
        reading, writing = os.pipe()
        pipe = os.fdopen(reading, "rb", buffering=0)
        try:
            process = await self._spawn(writing)
        except BaseException:
            pipe.close()
            raise
        finally:
            os.close(writing)
        output = asyncio.StreamReader(_LONGEST_LINE)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(output), pipe
        )
        return Running(process, output, transport)

    async def _spawn(self, output: int) -> Process:
        return await asyncio.create_subprocess_exec(
            *self.command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=asyncio.subprocess.STDOUT,
            env=self.env,
            process_group=0,
            preexec_fn=_die_with_parent(os.getpid()),
        )

    async def ready(self) -> Failed | None:
        """Return once it is ready, or with why it isn't after a long time."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _READY_SECONDS
        answer = await asyncio.to_thread(answer_at, self.listen, self.ready_path)
        while not answer.ready and loop.time() < until:
            await asyncio.sleep(_POLL_SECONDS)
            answer = await asyncio.to_thread(answer_at, self.listen, self.ready_path)
        if answer.ready:
            return None
        return Failed(self.name, f"wasn't ready after {_READY_SECONDS:.0f} seconds: {answer.said}.")


def end_group(leader: int) -> None:
    """Kill whatever is left of a child's process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _die_with_parent(parent: int) -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it died before we could ask
            os.kill(os.getpid(), signal.SIGTERM)

    return ask
