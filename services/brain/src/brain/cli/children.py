"""A process of `brain`: how it is started and when it is ready. Above: `supervisor`.

Each is the leader of a process group of its own, so that Ctrl-C reaches only the supervisor, and is
told by the kernel when the supervisor dies, however it dies.
"""

import asyncio
import ctypes
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import httpx2

from brain.config.host import split_listen

_PR_SET_PDEATHSIG = 1
_POLL_SECONDS = 0.05


class Failed(NamedTuple):
    """Why everything stops: one line."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"brain: {self.name}: {self.reason}"


class Child(NamedTuple):
    """A process to start. It listens at `listen` and is ready once `ready_path` answers 200."""

    name: str
    command: Sequence[str]
    listen: str | None = None
    ready_path: str = "/healthz"

    def port_taken(self) -> Failed | None:
        """Whether something listens already where this child wants to."""
        if self.listen is None:
            return None
        host, port = split_listen(self.listen)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError as error:
                why = "is in use" if error.errno == 98 else f"can't be used: {error.strerror}"
                return Failed(
                    self.name,
                    f"{self.listen} {why}. Stop what listens there, or choose another port.",
                )
        return None

    async def start(self, env: Mapping[str, str]) -> asyncio.subprocess.Process:
        """Start it; its output, both kinds, comes by `stdout`."""
        return await asyncio.create_subprocess_exec(
            *self.command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=env,
            process_group=0,
            preexec_fn=_die_with_parent(os.getpid()),
            limit=1024 * 1024,
        )

    async def ready(self) -> None:
        """Return once it answers. A child without an address is ready when the others are."""
        if self.listen is None:
            return
        host, port = split_listen(self.listen)
        url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        async with httpx2.AsyncClient(base_url=url, trust_env=False, timeout=2) as http:
            while not await _answers(http, self.ready_path):  # noqa: ASYNC110 - it's a process
                await asyncio.sleep(_POLL_SECONDS)


async def _answers(http: httpx2.AsyncClient, path: str) -> bool:
    try:
        return (await http.get(path)).status_code == 200
    except httpx2.HTTPError:
        return False


def _die_with_parent(parent: int) -> Callable[[], None]:
    if sys.platform != "linux":
        return lambda: None
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it died before we could ask
            os.kill(os.getpid(), signal.SIGTERM)

    return ask
