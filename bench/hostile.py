"""What 200 calls to hostile services do to another session. Above: `make bench-hostile`.

Below: `hostile_service`, a process that hangs, trickles and floods; Brain and the local tools as
`brain_process` starts them. One session has a tool turn after the other, first alone, then beside
the calls. What floods is called again as soon as Brain has cut it off.
"""

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from bench.brain_process import Brain, Tools, running_brain, running_tools
from bench.hostile_service import PATHS
from bench.lean_http import Connection, HttpError
from bench.meter import Meter
from bench.proc import resident_bytes
from bench.processes import DidNotStart, free_port, ready, running
from bench.turns import Session, message

MARK = 2.0
"""The loaded p50 may be so many times the quiet one."""

_REPOSITORY = Path(__file__).parents[1]
_HANGING, _TRICKLING = 70, 70
_FLOODS = [path for path in PATHS if path.startswith("flood")]
_FLOODING = 60
_TURNS = 400
_LIMIT_SECONDS = 120.0
_SETTLE_SECONDS = 1.0
_SAMPLE_SECONDS = 0.02
_TOOL = message('/call echo {"text":"hello"}')


@dataclass
class Found:
    """Times of a tool turn, and the engine's memory in bytes: before, at its peak, after."""

    quiet: Meter
    loaded: Meter
    before: int = 0
    peak: int = 0
    after: int = 0
    flood_calls: list[int] = field(default_factory=list[int])

    @property
    def ratio(self) -> float:
        """The loaded p50 to the quiet one."""
        return self.loaded.percentile(50) / self.quiet.percentile(50)


def main() -> int:
    """Run once and print; 1 if Brain did not start or answered wrongly."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else _TURNS
    try:
        found = uvloop.run(_stopping_cleanly(turns))
    except (DidNotStart, HttpError, TimeoutError) as error:
        print(f"bench: {error or 'Brain took too long to answer'}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, asyncio.CancelledError):
        return 130
    print(report(found))
    return 0


def report(found: Found) -> str:
    """What was found, as a table."""
    calls = f"{_HANGING} hang, {_TRICKLING} trickle, {_FLOODING} flood"
    lines = [f"{_HANGING + _TRICKLING + _FLOODING} calls at once: {calls}", ""]
    lines.append(f"{'a tool turn beside them, ms':<30}{'p50':>9}{'p99':>9}")
    for name, meter in (("quiet", found.quiet), ("loaded", found.loaded)):
        times = (f"{meter.percentile(percent) * 1000:>9.2f}" for percent in (50, 99))
        lines.append(f"{name:<30}{''.join(times)}")
    tail = found.loaded.percentile(99) / found.quiet.percentile(99)
    lines.append(f"{'ratio':<30}{found.ratio:>9.2f}{tail:>9.2f}")
    memory = (f"{name} {size / 2**20:.0f} MiB" for name, size in _memory(found).items())
    met = "within" if found.ratio <= MARK else "over"
    return "\n".join(
        [
            *lines,
            "",
            f"memory of the engine: {', '.join(memory)}",
            f"calls that flooded until they were cut off: {sum(found.flood_calls)}",
            f"a tool turn takes {found.ratio:.2f} times as long, {met} the mark of {MARK:g}",
        ]
    )


def _memory(found: Found) -> dict[str, int]:
    return {"before": found.before, "peak": found.peak, "after": found.after}


async def _stopping_cleanly(turns: int) -> Found:
    # SIGTERM unwinds the run, as Ctrl-C does, so that everything it started is stopped.
    running_it = asyncio.create_task(run(turns))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running_it.cancel)
    return await running_it


async def run(turns: int) -> Found:
    """One whole run. Raises: DidNotStart, HttpError, TimeoutError."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        async with (
            asyncio.timeout(_LIMIT_SECONDS),
            running_tools(folder) as tools,
            _hostile_tools(folder, tools) as all_tools,
            running_brain(folder, all_tools) as brain,
        ):
            return await _measure(brain, turns)


async def _measure(brain: Brain, turns: int) -> Found:
    found = Found(Meter({}), Meter({}))
    await _tool_turns(brain, turns, found.quiet)
    found.before = resident_bytes(brain.engine)
    watching = asyncio.create_task(_watch_memory(brain, found))
    try:
        async with _loaded(brain, found, turns // 16 + 2):
            await asyncio.sleep(_SETTLE_SECONDS)
            await _tool_turns(brain, turns, found.loaded)
    finally:
        watching.cancel()
    await asyncio.sleep(_SETTLE_SECONDS)
    found.after = resident_bytes(brain.engine)
    return found


async def _tool_turns(brain: Brain, turns: int, meter: Meter) -> None:
    # A session of its own each time: a connection that is idle for long is closed by the server.
    session = await Session.open(brain)
    await Meter({}).repeat(turns // 4, lambda: session.turn(_TOOL))
    await meter.repeat(turns, lambda: session.turn(_TOOL))
    session.close()


async def _watch_memory(brain: Brain, found: Found) -> None:
    while True:
        found.peak = max(found.peak, resident_bytes(brain.engine))
        await asyncio.sleep(_SAMPLE_SECONDS)


@asynccontextmanager
async def _loaded(brain: Brain, found: Found, floods_each: int) -> AsyncGenerator[None]:
    """The calls run while the block does; then they are interrupted."""
    connection = await Connection.open(brain.port, brain.key)
    floods = [_FLOODS[number % len(_FLOODS)] for number in range(_FLOODING)]
    flooding = [await _session(connection, "hang", flood) for flood in floods]
    for path, flood in zip(flooding, floods, strict=True):
        # They wait behind a call that hangs, and all begin at once when that is interrupted.
        for tool in ("hang", *[flood] * floods_each):
            await _post(connection, f"{path}/messages", message(f"/call {tool} {{}}"))
    waiting = await _session(connection, "hang", "trickle")
    calls = ["/call hang {}"] * _HANGING + ["/call trickle {}"] * _TRICKLING
    await _post(connection, f"{waiting}/messages", message("\n".join(calls)))
    for path in flooding:
        await _post(connection, f"{path}/interrupt", b'{"keep_queue":true}')
    try:
        yield
    finally:
        connection.close()
        connection = await Connection.open(brain.port, brain.key)
        for path in (waiting, *flooding):
            await _post(connection, f"{path}/interrupt", b"{}")
        for path in flooding:
            found.flood_calls.append(await _results(connection, path))
        connection.close()


async def _session(connection: Connection, *tools: str) -> str:
    """A new session with these tools; gives its path."""
    config = {"model": "demo/script", "tools": tools}
    body = json.dumps({"harness": "pi", "config": config}).encode()
    return f"/sessions/{json.loads(await _post(connection, '/sessions', body))['id']}"


async def _post(connection: Connection, path: str, body: bytes) -> bytes:
    answer = await connection.post(path, body)
    if answer.status >= 300:
        raise HttpError(f"POST {path} answered {answer.status}: {answer.body.decode()}")
    return answer.body


async def _results(connection: Connection, path: str) -> int:
    """How many calls of the session were cut off."""
    answer = await connection.get(f"{path}/events?limit=1000")
    events = json.loads(answer.body)["events"]
    results = [event["data"] for event in events if event["type"] == "tool.result"]
    return sum(result["code"] in ("too_large", "bad_http") for result in results)


@asynccontextmanager
async def _hostile_tools(folder: Path, tools: Tools) -> AsyncGenerator[Tools]:
    """The tools that are there and a hostile one for each path. Raises: DidNotStart."""
    port = free_port()
    command = [sys.executable, "-m", "bench.hostile_service", str(port)]
    with running(command, folder, {**os.environ, "PYTHONPATH": str(_REPOSITORY)}) as server:
        await ready(server, port, "/healthz")
        bindings = [_binding(name, f"http://127.0.0.1:{port}/tools/{name}") for name in PATHS]
        yield Tools([*tools.bindings, *bindings], tools.env)


def _binding(name: str, url: str) -> dict[str, object]:
    return {
        "name": name,
        "description": "A hostile tool.",
        "input_schema": {"type": "object"},
        "url": url,
        "tenants": ["local"],
    }


if __name__ == "__main__":
    sys.exit(main())
