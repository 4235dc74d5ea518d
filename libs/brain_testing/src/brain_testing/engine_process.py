"""An engine as a process of its own, so that a test can kill it as a machine's failure would.

Above: tests of what survives. Below: the product's command line.
"""

import asyncio
import os
import resource
import signal
import sys
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from brain_testing.api import Api
from brain_testing.running import RunningBrain


class EngineProcess:
    """The process. It serves the edge of the Brain that it was started for."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    def peak_bytes(self) -> int:
        """The most memory that it has had in RAM so far."""
        return self._memory("VmHWM")

    def resident_bytes(self) -> int:
        """The memory that it has in RAM now."""
        return self._memory("VmRSS")

    def _memory(self, field: str) -> int:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.partition(f"{field}:")[2].split()[0]) * 1024

    @contextmanager
    def disk_full(self) -> Generator[None]:
        """No file of this process can grow while the block runs, as on a full disk."""
        limit = resource.RLIMIT_FSIZE
        before = resource.prlimit(self._process.pid, limit, (1, resource.RLIM_INFINITY))
        try:
            yield
        finally:
            resource.prlimit(self._process.pid, limit, before)

    @contextmanager
    def paused(self) -> Generator[None]:
        """It does nothing while the block runs."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def terminate(self) -> None:
        """Tell it to stop, as an operator's tools do."""
        self._process.terminate()

    async def ended(self) -> int:
        """Wait until it has ended by itself; gives its exit code."""
        async with asyncio.timeout(20):
            return await self._process.wait()

    async def kill(self) -> None:
        """Kill it as `kill -9` does; it gets to do nothing about it."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()


@asynccontextmanager
async def engine_process(
    brain: RunningBrain, api: Api, command: Sequence[str] = ("-m", "brain")
) -> AsyncGenerator[EngineProcess]:
    """An engine in the place of the one that `brain` has run itself until now.

    `command` is what Python runs, before the arguments of `brain`.
    """
    await brain.stop_engine()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *(*command, "--config", str(brain.folder / "brain.json"), "--role", "engine"),
        env={**os.environ, **brain.env()},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,  # a file there would be part of what `disk_full` fills
    )
    engine = EngineProcess(process)
    try:
        await _until_serving(brain, process)
        await api.until_ready()
        yield engine
    finally:
        await engine.kill()


async def _until_serving(brain: RunningBrain, process: asyncio.subprocess.Process) -> None:
    """Wait until the engine says so itself."""
    async with grpc.aio.insecure_channel(f"unix:{brain.folder / 'engine.sock'}") as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        request = health_pb2.HealthCheckRequest()
        serving = asyncio.ensure_future(health.Check(request, wait_for_ready=True, timeout=20))
        ended = asyncio.create_task(process.wait())
        await asyncio.wait([serving, ended], return_when=asyncio.FIRST_COMPLETED)
        assert not ended.done(), f"the engine ended with {process.returncode}"
        ended.cancel()
        await serving
