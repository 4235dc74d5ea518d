"""A SQLite log, and processes that use one."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import pytest

from brain.engine.log.protocol import EventLog
from brain.engine.log.sqlite import open_sqlite

Start = Callable[[str], Awaitable[Process]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the log is."""
    return tmp_path / "brain.db"


@pytest.fixture
async def log(path: Path) -> AsyncGenerator[EventLog]:
    """An open log."""
    opened = await open_sqlite(path)
    yield opened
    await opened.close()


@pytest.fixture
async def start(path: Path) -> AsyncGenerator[Start]:
    """Starts one of the `processes` on the log's path; what they print is in their stdout."""
    started: list[Process] = []

    async def start_process(name: str) -> Process:
        script = Path(__file__).parent / "processes" / f"{name}.py"
        process = await asyncio.create_subprocess_exec(sys.executable, script, path, stdout=PIPE)
        started.append(process)
        return process

    yield start_process
    for process in started:
        if process.returncode is None:
            process.kill()
        await process.communicate()
