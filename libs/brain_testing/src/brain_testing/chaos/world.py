"""The processes of a Brain that are killed, stopped and started again. Above: `driver`.

A process that ended, however, is started again after a moment, as an operator's tools would.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from brain_testing.commands import free_ports

KEY = "a-key-of-the-drivers-only"
_EXPECTED = {0, -signal.SIGKILL, -signal.SIGTERM}
_RESTART_SECONDS = 0.4


class Process:
    """One process and its successors."""

    def __init__(self, name: str, command: Sequence[str], folder: Path, rng: Random) -> None:
        self.name = name
        self.next_point: str | None = None
        self.starts = 0
        self._started = asyncio.Condition()
        self.unexpected: list[str] = []
        self._command = command
        self._folder = folder
        self._rng = rng
        self._process: asyncio.subprocess.Process | None = None
        self._point: str | None = None
        self._keeper: asyncio.Task[None] | None = None
        self.died_at: Counter[str] = Counter()

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def has_started(self, times: int) -> None:
        """Wait until it has been started so often."""
        async with self._started:
            await self._started.wait_for(lambda: self.starts >= times)

    def start(self) -> None:
        """Start it, and start it again whenever it has ended."""
        self._keeper = asyncio.create_task(self._keep())

    def send(self, number: signal.Signals) -> bool:
        """Send it a signal, if it runs."""
        if self._process is None or self._process.returncode is not None:
            return False
        self._process.send_signal(number)
        return True

    async def end(self) -> int:
        """End it for good; gives its exit code."""
        if self._keeper is not None:
            self._keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeper
        if self._process is None:
            return 0
        if self._process.returncode is None:
            self._process.terminate()
            try:
                async with asyncio.timeout(20):
                    await self._process.wait()
            except TimeoutError:
                self._process.kill()
                self.unexpected.append(f"{self.name} did not end on SIGTERM")
        return await self._process.wait()

    async def _keep(self) -> None:
        while True:
            self._point, self.next_point = self.next_point, None
            await self._run()
            await asyncio.sleep(self._rng.uniform(0, _RESTART_SECONDS))

    async def _run(self) -> None:
        command = [*self._command, *([self._point] if self._point else [])]
        async with self._started:
            self.starts += 1
            self._started.notify_all()
        with (self._folder / f"{self.name}.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                env={**os.environ, "DRIVER_KEY": KEY, "DRIVER_ENGINE_KEY": KEY},
                stdout=log,
                stderr=log,
            )
        code = await self._process.wait()
        if self._point and code == -signal.SIGKILL:
            self.died_at[self._point.rpartition(":")[0]] += 1
        if code not in _EXPECTED:
            self.unexpected.append(f"{self.name} ended by itself with {code}")


class World:
    """The engines and edges of one Brain, with their configs in a folder."""

    def __init__(self, folder: Path, rng: Random, tools: list[dict[str, Any]]) -> None:
        self._folder = folder
        self._rng = rng
        self._tools = tools
        self.engines: list[Process] = []
        self.edges: list[Process] = []
        self.urls: list[str] = []

    @property
    def processes(self) -> list[Process]:
        return [*self.engines, *self.edges]

    def build(self, edges: int = 2) -> None:
        """One engine on SQLite, and edges that all speak to it."""
        shared = self._config(engine={"listen": "unix:engine.sock"})
        config = self._write("engine.json", shared)
        self.engines.append(self._process("engine", "brain_testing.chaos.engine", str(config)))
        for number, port in enumerate(free_ports(edges)):
            own = {**shared, "listen": f"127.0.0.1:{port}"}
            config = self._write(f"edge{number}.json", own)
            arguments = ("--config", str(config), "--role", "edge")
            self.edges.append(self._process(f"edge{number}", "brain", *arguments))
            self.urls.append(f"http://127.0.0.1:{port}")

    def start(self) -> None:
        for process in self.processes:
            process.start()

    async def end(self) -> None:
        for process in reversed(self.processes):
            await process.end()

    def unexpected(self) -> list[str]:
        """Whatever ended in a way that nobody asked for."""
        return [each for process in self.processes for each in process.unexpected]

    def _config(self, **more: Any) -> dict[str, Any]:
        return {
            "store": "sqlite:///brain.db",
            "tenants": [{"id": "local", "api_keys_env": ["DRIVER_KEY"]}],
            "shutdown_grace_seconds": 1,
            "tools": self._tools,
            **more,
        }

    def _write(self, name: str, document: dict[str, Any]) -> Path:
        path = self._folder / name
        path.write_text(json.dumps(document))
        return path

    def _process(self, name: str, module: str, *arguments: str) -> Process:
        command = (sys.executable, "-P", "-m", module, *arguments)
        return Process(name, command, self._folder, self._rng)
