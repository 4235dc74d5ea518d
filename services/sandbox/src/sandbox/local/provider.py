"""Sandboxes on this machine. Above: `registry`. Below: `homes`, `process`, `watchdog`, `probe`.

A sandbox is a folder; a process in it is a bubblewrap of its own, which ends with the service. So a
job doesn't outlive the service: nothing would hold it to its limits then.
"""

import asyncio
import contextlib
from asyncio.subprocess import Process
from collections import OrderedDict
from collections.abc import AsyncGenerator
from pathlib import Path

from sandbox.local.bubblewrap import WORKSPACE
from sandbox.local.homes import Homes, homes
from sandbox.local.limits import Limits, limits
from sandbox.local.probe import launcher
from sandbox.local.process import Launcher, end, read
from sandbox.local.watchdog import over
from sandbox.provider import Gone, Key, Output, Provider, Refused, Setup

_KILLED_REMEMBERED = 10_000


async def provider(setup: Setup) -> AsyncGenerator[Provider]:
    """The provider, once a sandbox was tried. Raises: CannotServe."""
    allowed, folder = limits(setup.env), homes(setup)
    folder.tidy()
    local = Local(folder, await launcher(folder, allowed), allowed)
    try:
        yield local
    finally:
        await local.close()


class Local:
    """A `Provider` of bubblewrap."""

    workspace = WORKSPACE

    def __init__(self, homes: Homes, launcher: Launcher, limits: Limits) -> None:
        self._homes = homes
        self._launcher = launcher
        self._limits = limits
        self._running: dict[str, Running] = {}

    async def find(self, key: Key) -> str | None:
        return self._homes.find(key.label)

    async def create(self, key: Key) -> str:
        try:
            return self._homes.make(key.label)
        except OSError as error:
            raise Refused("capacity", f"no folder for a sandbox: {error.strerror}") from error

    async def alive(self, sandbox: str) -> bool:
        return self._homes.path(sandbox) is not None

    async def end(self, sandbox: str) -> None:
        await self._processes(sandbox).end_all()
        self._running.pop(sandbox, None)
        await asyncio.to_thread(self._homes.remove, sandbox)

    async def execute(self, sandbox: str, script: str, output: Output, name: str = "") -> int:
        running = self._processes(sandbox)
        process = await running.start(self._files(sandbox), script, name, output=True)
        try:
            code = await read(process, output)
        finally:
            await running.finish(process)
        if (why := running.stopped.get(process.pid)) is not None:
            await output("stderr", f"\n[sandbox] Everything was ended: {why}.\n".encode())
        return code

    async def upload(self, sandbox: str, path: str, data: bytes) -> None:
        """By a process inside: what a path leads to is a program's own doing there."""
        script = 'mkdir -p -- "${1%/*}" && cat >"$1"'
        process = await self._processes(sandbox).start(
            self._files(sandbox), f"set -- {path}; {script}", "", stdin=True
        )
        try:
            if process.stdin is not None:
                with contextlib.suppress(ConnectionError):
                    process.stdin.write(data)
                    await process.stdin.drain()
                process.stdin.close()
            if await process.wait() != 0:
                raise Refused("capacity", "a file for a process couldn't be written")
        finally:
            await self._processes(sandbox).finish(process)

    async def spawn(self, sandbox: str, name: str, script: str) -> None:
        running = self._processes(sandbox)
        process = await running.start(self._files(sandbox), script, name)
        running.follow(process)

    async def kill(self, sandbox: str, name: str) -> None:
        await self._processes(sandbox).kill(name)

    async def close(self) -> None:
        """End all processes; the sandboxes stay."""
        for running in list(self._running.values()):
            await running.end_all()

    def _files(self, sandbox: str) -> Path:
        files = self._homes.path(sandbox)
        if files is None:
            raise Gone
        return files

    def _processes(self, sandbox: str) -> "Running":
        if sandbox not in self._running:
            self._running[sandbox] = Running(self._launcher, self._limits)
        return self._running[sandbox]


class Running:
    """The processes of one sandbox. While there is one, a watchdog looks at all of them."""

    def __init__(self, launcher: Launcher, limits: Limits) -> None:
        self.stopped: dict[int, str] = {}
        self._launcher = launcher
        self._limits = limits
        self._processes: dict[int, tuple[str, Process]] = {}
        self._killed: OrderedDict[str, None] = OrderedDict()
        self._watching: asyncio.Task[None] | None = None
        self._following: set[asyncio.Task[None]] = set()

    async def start(
        self, files: Path, script: str, name: str, *, stdin: bool = False, output: bool = False
    ) -> Process:
        process = await self._launcher.start(files, script, stdin=stdin, output=output)
        self._processes[process.pid] = (name, process)
        if name and name in self._killed:
            process.kill()
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch(files))
        return process

    def follow(self, process: Process) -> None:
        """See a background process to its end."""
        task = asyncio.create_task(self._follow(process))
        self._following.add(task)
        task.add_done_callback(self._following.discard)

    async def finish(self, process: Process) -> None:
        """Leave nothing of a process, however it ended."""
        await asyncio.shield(asyncio.ensure_future(end(process)))
        self._processes.pop(process.pid, None)
        if not self._processes and self._watching is not None:
            self._watching.cancel()
            self._watching = None

    async def kill(self, name: str) -> None:
        self._killed[name] = None
        if len(self._killed) > _KILLED_REMEMBERED:
            self._killed.popitem(last=False)
        for named, process in list(self._processes.values()):
            if named == name:
                await end(process)

    async def end_all(self, why: str = "") -> None:
        for pid, (_, process) in list(self._processes.items()):
            if why:
                self.stopped[pid] = why
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        for _, process in list(self._processes.values()):
            await process.wait()

    async def _follow(self, process: Process) -> None:
        await process.wait()
        await self.finish(process)

    async def _watch(self, files: Path) -> None:
        while True:
            why = await over(files, lambda: list(self._processes), self._limits)
            await self.end_all(why)
