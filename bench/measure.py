"""What is measured, in which order. Above: `__main__`. Below: `turns`, `floors`, `meter`.

The floors and Brain take turns in rounds, so that a noisy moment of the machine hits both.
"""

import asyncio
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.brain_process import Brain, running_brain, running_tools
from bench.floors import Floors, running_floors
from bench.lean_http import Connection
from bench.meter import Meter
from bench.plan import Plan
from bench.proc import resident_bytes
from bench.result import Result
from bench.turns import Session, create_session, message

_CREATORS = 8
_TEXT = message("hello there")
_TOOL = message('/call echo {"text":"hello"}')


async def run(plan: Plan) -> Result:
    """One whole run. Raises: DidNotStart, HttpError, TimeoutError."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        async with asyncio.timeout(plan.limit_seconds), running_tools(folder) as tools:
            starts: list[float] = []
            for number in range(plan.starts - 1):
                async with running_brain(_subfolder(folder, f"start-{number}"), tools) as brain:
                    starts.append(brain.seconds_to_ready)
            async with (
                running_floors(_subfolder(folder, "floors")) as floors,
                running_brain(_subfolder(folder, "brain"), tools) as brain,
            ):
                result = Result(brain.processes, floors)
                result.starts = [*starts, brain.seconds_to_ready]
                await _measure(plan, brain, floors, result)
                return result


async def _measure(plan: Plan, brain: Brain, floors: Floors, result: Result) -> None:
    warm_up = replace(plan, each=plan.each // 4)
    await _round(warm_up, brain, floors, Result(brain.processes, floors))
    floors.reset()
    for _ in range(plan.rounds):
        await _round(plan, brain, floors, result)
    result.text_rate = await _busy(plan, brain, result.busy_text, _TEXT)
    result.tool_rate = await _busy(plan, brain, result.busy_tool, _TOOL)
    result.idle_bytes = await _idle_memory(plan, brain)


async def _round(plan: Plan, brain: Brain, floors: Floors, result: Result) -> None:
    await floors.measure(plan.each)
    connection = await Connection.open(brain.port, brain.key)
    await result.create.repeat(plan.each, lambda: create_session(connection))
    connection.close()
    session = await Session.open(brain)
    await result.text.repeat(plan.each, lambda: _short(result, session))
    await result.tool.repeat(plan.each, lambda: session.turn(_TOOL))
    body = message("word " * plan.words)
    await result.long.repeat(plan.long_answers, lambda: _long(result, session, body))
    session.close()


async def _short(result: Result, session: Session) -> None:
    turn = await session.turn(_TEXT)
    result.first_delta.seconds.append(turn.first_delta)
    result.text_deltas += turn.deltas


async def _long(result: Result, session: Session, body: bytes) -> None:
    result.long_deltas += (await session.turn(body)).deltas


async def _busy(plan: Plan, brain: Brain, meter: Meter, body: bytes) -> float:
    sessions = [await Session.open(brain) for _ in range(plan.sessions)]
    rate = await meter.together(lambda: _turns_of_all(sessions, body, plan.busy_seconds))
    for session in sessions:
        session.close()
    return rate


async def _turns_of_all(sessions: Sequence[Session], body: bytes, seconds: float) -> list[float]:
    until = time.perf_counter() + seconds

    async def turns(session: Session) -> list[float]:
        took: list[float] = []
        while time.perf_counter() < until:
            took.append((await session.turn(body)).seconds)
        return took

    of_each = await asyncio.gather(*map(turns, sessions))
    return [took for of_one in of_each for took in of_one]


async def _idle_memory(plan: Plan, brain: Brain) -> dict[str, float]:
    before = _memory(brain)
    connections = [await Connection.open(brain.port, brain.key) for _ in range(_CREATORS)]

    async def create(connection: Connection) -> None:
        for _ in range(plan.idle_sessions // _CREATORS):
            await create_session(connection)

    await asyncio.gather(*map(create, connections))
    for connection in connections:
        connection.close()
    return {name: (now - before[name]) / plan.idle_sessions for name, now in _memory(brain).items()}


def _memory(brain: Brain) -> dict[str, int]:
    return {name: resident_bytes(pid) for name, pid in brain.processes.items()}


def _subfolder(folder: Path, name: str) -> Path:
    made = folder / name
    made.mkdir()
    return made
