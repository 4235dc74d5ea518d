"""An edge as a process of its own, so that a test can see what it costs. Above: tests of readers.

Below: the product's command line, `engine_process`.
"""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx2

from brain_testing.api import Api
from brain_testing.engine_process import EngineProcess
from brain_testing.running import RunningBrain


@asynccontextmanager
async def edge_process(brain: RunningBrain, api: Api) -> AsyncGenerator[EngineProcess]:
    """An edge in the place of the one that `brain` has run itself until now, at its address.

    It is started with a limit of a few open files, as systems do.
    """
    await brain.stop_edge()
    brain.config()  # the file says now which port it was
    process = await asyncio.create_subprocess_exec(
        *("sh", "-c", 'ulimit -S -n 48 && exec "$@"', "sh", sys.executable),
        *("-m", "brain", "--config", str(brain.folder / "brain.json"), "--role", "edge"),
        env={**os.environ, **brain.env()},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    edge = EngineProcess(process)
    try:
        async with asyncio.timeout(20):
            await _until_ready(api, process)
        yield edge
    finally:
        await edge.kill()


async def _until_ready(api: Api, process: asyncio.subprocess.Process) -> None:
    while process.returncode is None:
        try:
            return await api.until_ready()
        except httpx2.TransportError:
            await asyncio.sleep(0.01)
    raise AssertionError(f"the edge ended with {process.returncode}")
