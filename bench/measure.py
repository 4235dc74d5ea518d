"""What is measured, and how often. Above: `__main__`. Below: `turns`, `floors`, `meter`.

The floors and Brain take turns in rounds, so that a noisy moment of the machine hits both.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from bench.brain_process import Brain, running_brain, running_tools
from bench.floors import Floors, running_floors
from bench.lean_http import Connection
from bench.meter import Meter
from bench.proc import resident_bytes
from bench.result import Result
from bench.turns import Session, create_session, message

ROUNDS = 5
EACH = 80
LONG_TEXTS = 8
WORDS = 400
SESSIONS = 32
BUSY_SECONDS = 3.0
IDLE_SESSIONS = 2000
CREATORS = 8
STARTS = 3

_TEXT = message("hello there")
_LONG_TEXT = message("word " * WORDS)
_TOOL = message('/call echo {"text":"hello"}')


async def run() -> Result:
    """One whole run."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        async with running_tools(folder) as tools:
            starts: list[float] = []
            for number in range(STARTS - 1):
                async with running_brain(_subfolder(folder, f"start-{number}"), tools) as brain:
                    starts.append(brain.seconds_to_ready)
            async with (
                running_floors(_subfolder(folder, "floors")) as floors,
                running_brain(_subfolder(folder, "brain"), tools) as brain,
            ):
                result = Result(brain.processes, floors)
                result.starts = [*starts, brain.seconds_to_ready]
                await _measure(brain, floors, result)
                return result


async def _measure(brain: Brain, floors: Floors, result: Result) -> None:
    await _round(brain, floors, Result(brain.processes, floors), 20)  # to warm up
    floors.reset()
    for _ in range(ROUNDS):
        await _round(brain, floors, result, EACH)
    result.text_rate = await _busy(brain, result.busy_text, _TEXT)
    result.tool_rate = await _busy(brain, result.busy_tool, _TOOL)
    result.idle_bytes = await _idle_memory(brain)


async def _round(brain: Brain, floors: Floors, result: Result, times: int) -> None:
    await floors.measure(times)
    connection = await Connection.open(brain.port, brain.key)
    await result.create.repeat(times, lambda: create_session(connection))
    connection.close()
    async with _session(brain) as session:
        await result.text.repeat(times, lambda: _note(result, session))
        await result.tool.repeat(times, lambda: session.turn(_TOOL))
        await result.long.repeat(LONG_TEXTS, lambda: _note_long(result, session))


async def _note(result: Result, session: Session) -> None:
    turn = await session.turn(_TEXT)
    result.first_delta.seconds.append(turn.first_delta)
    result.text_deltas += turn.deltas


async def _note_long(result: Result, session: Session) -> None:
    result.long_deltas += (await session.turn(_LONG_TEXT)).deltas


async def _busy(brain: Brain, meter: Meter, body: bytes) -> float:
    sessions = [await Session.open(brain) for _ in range(SESSIONS)]
    rate = await meter.together(lambda: _turns_of_all(sessions, body))
    for session in sessions:
        session.close()
    return rate


async def _turns_of_all(sessions: Sequence[Session], body: bytes) -> list[float]:
    until = time.perf_counter() + BUSY_SECONDS

    async def turns(session: Session) -> list[float]:
        took: list[float] = []
        while time.perf_counter() < until:
            took.append((await session.turn(body)).seconds)
        return took

    of_each = await asyncio.gather(*map(turns, sessions))
    return [took for of_one in of_each for took in of_one]


async def _idle_memory(brain: Brain) -> dict[str, float]:
    before = _memory(brain)
    connections = [await Connection.open(brain.port, brain.key) for _ in range(CREATORS)]

    async def create(connection: Connection) -> None:
        for _ in range(IDLE_SESSIONS // CREATORS):
            await create_session(connection)

    await asyncio.gather(*map(create, connections))
    for connection in connections:
        connection.close()
    return {name: (now - before[name]) / IDLE_SESSIONS for name, now in _memory(brain).items()}


def _memory(brain: Brain) -> dict[str, int]:
    return {name: resident_bytes(pid) for name, pid in brain.processes.items()}


@asynccontextmanager
async def _session(brain: Brain) -> AsyncGenerator[Session]:
    session = await Session.open(brain)
    try:
        yield session
    finally:
        session.close()


def _subfolder(folder: Path, name: str) -> Path:
    made = folder / name
    made.mkdir()
    return made
