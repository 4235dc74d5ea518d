"""An engine as a process of its own, so that a test can kill it as a machine's failure would.

Above: tests of what survives. Below: the product's command line.
"""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from brain_testing.api import Api
from brain_testing.running import RunningBrain


class EngineProcess:
    """The process. It serves the edge of the Brain that it was started for."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def kill(self) -> None:
        """Kill it as `kill -9` does; it gets to do nothing about it."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()


@asynccontextmanager
async def engine_process(brain: RunningBrain, api: Api) -> AsyncGenerator[EngineProcess]:
    """An engine in the place of the one that `brain` has run itself until now."""
    await brain.stop_engine()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "brain", "--config", str(brain.folder / "brain.json"), "--role", "engine"),
        env={**os.environ, **brain.env()},
        stdout=asyncio.subprocess.DEVNULL,
    )
    engine = EngineProcess(process)
    try:
        await _serving(brain)
        await api.until_ready()
        yield engine
    finally:
        await engine.kill()


async def _serving(brain: RunningBrain) -> None:
    """Wait until the engine says so itself."""
    async with grpc.aio.insecure_channel(f"unix:{brain.folder / 'engine.sock'}") as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        await health.Check(health_pb2.HealthCheckRequest(), wait_for_ready=True, timeout=20)
