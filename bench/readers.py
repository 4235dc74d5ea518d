"""What many readers cost: 1,000 of one session, 1,000 of as many sessions, 200 that read nothing.

Above: `make bench-readers`. Below: Brain as `brain_process` starts it, and bare sockets.
"""

import asyncio
import json
import os
import resource
import signal
import socket
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from bench.brain_process import Brain, Tools, running_brain
from bench.lean_http import Connection, HttpError
from bench.meter import Meter
from bench.proc import resident_bytes
from bench.processes import DidNotStart
from bench.turns import Session, create_session, message

_READERS, _TURNS, _NEVER_READ = 1000, 20, 200
_LARGE = message("x" * 100_000)
_LARGE_TURNS = 50
_LIMIT_SECONDS = 300.0
_SAMPLE_SECONDS = 0.02
_END = b"event: turn.completed\n"


@dataclass
class Part:
    """Times of one kind of work, what was delivered in it, and the memory of each process.

    `memory` is in bytes: before there were readers, with them, and the most while they read.
    """

    name: str
    work: str
    meter: Meter
    delivered: int = 0
    memory: dict[str, list[int]] = field(default_factory=dict[str, list[int]])


class Follower:
    """A connection that follows a session."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, brain: Brain, session_id: str, buffer: int = 0) -> "Follower":
        """Join a session; returns once it was answered. `buffer` is the kernel's, in bytes."""
        client = socket.socket()
        if buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        client.setblocking(False)
        await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", brain.port))
        reader, writer = await asyncio.open_connection(sock=client)
        writer.write(
            f"GET /sessions/{session_id}/events HTTP/1.1\r\nHost: brain\r\n"
            f"Accept: text/event-stream\r\nAuthorization: Bearer {brain.key}\r\n\r\n".encode()
        )
        await reader.readuntil(b"session.created")
        return cls(reader, writer)

    async def turn(self) -> None:
        """Read until a turn is completed."""
        await self._reader.readuntil(_END)

    def close(self) -> None:
        """Leave."""
        self._writer.transport.abort()


def main() -> int:
    """Run once and print; 1 if Brain did not start or answered wrongly."""
    divisor = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        parts = uvloop.run(_stopping_cleanly(divisor))
    except (DidNotStart, HttpError, TimeoutError, asyncio.IncompleteReadError) as error:
        print(f"bench: {error or 'Brain took too long to answer'}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, asyncio.CancelledError):
        return 130
    print("\n\n".join(report(part) for part in parts))
    return 0


def report(part: Part) -> str:
    """What was found, as a few lines."""
    times = ", ".join(f"p{p} {part.meter.percentile(p) * 1000:.1f} ms" for p in (50, 99))
    cpu = ", ".join(
        f"{name} {spent * 1000:.1f} ms" for name, spent in part.meter.cpu_each().items()
    )
    lines = [part.name, f"  {part.work}: {times}; CPU {cpu}"]
    if part.delivered:
        rate = part.delivered / sum(part.meter.seconds)
        lines.append(f"  turns delivered: {part.delivered}, {rate:.0f} a second")
    for name, (before, joined, peak) in part.memory.items():
        sizes = (f"{size / 2**20:.0f}" for size in (before, joined, peak))
        lines.append("  memory of the {}: before {}, joined {}, peak {} MiB".format(name, *sizes))
    return "\n".join(lines)


async def _stopping_cleanly(divisor: int) -> list[Part]:
    # SIGTERM unwinds the run, as Ctrl-C does, so that everything it started is stopped.
    running_it = asyncio.create_task(run(divisor))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running_it.cancel)
    return await running_it


async def run(divisor: int) -> list[Part]:
    """One whole run, of a `divisor`-th of the readers. Raises: DidNotStart, HttpError."""
    found: list[Part] = []
    for measure in (_of_one_session, _of_many_sessions, _that_read_nothing):
        with tempfile.TemporaryDirectory(prefix="bench-") as name:
            async with (
                asyncio.timeout(_LIMIT_SECONDS),
                running_brain(Path(name), no_tools()) as brain,
            ):
                found.append(await measure(brain, divisor))
    return found


def no_tools() -> Tools:
    """A tool that nobody calls."""
    echo = {
        "name": "echo",
        "description": "Is never called.",
        "input_schema": {"type": "object"},
        "url": "http://127.0.0.1:9/echo",
        "tenants": ["local"],
    }
    return Tools([echo], os.environ)


async def _of_one_session(brain: Brain, divisor: int) -> Part:
    count = _READERS // divisor
    posting = await Connection.open(brain.port, brain.key)
    session_id = await create_session(posting)
    part = _part(brain, f"{count} readers of one session", "from a message to the last reader")
    readers = await _joined(brain, [session_id] * count)
    _remember(part, brain)

    async def turn() -> None:
        await posting.post(f"/sessions/{session_id}/messages", message("hello"))
        await asyncio.gather(*(reader.turn() for reader in readers))

    return await _repeated(part, brain, readers, _TURNS, turn)


async def _of_many_sessions(brain: Brain, divisor: int) -> Part:
    count = _READERS // divisor
    posting = await Connection.open(brain.port, brain.key)
    sessions = [await create_session(posting) for _ in range(count)]
    part = _part(
        brain, f"{count} sessions with a reader each", "a turn in each, to the last reader"
    )
    readers = await _joined(brain, sessions)
    _remember(part, brain)

    async def turns() -> None:
        for session_id in sessions:
            await posting.post(f"/sessions/{session_id}/messages", message("hello"))
        await asyncio.gather(*(reader.turn() for reader in readers))

    return await _repeated(part, brain, readers, 3, turns)


async def _that_read_nothing(brain: Brain, divisor: int) -> Part:
    count = _NEVER_READ // divisor
    session = await Session.open(brain)
    part = _part(brain, f"{count} readers that read nothing", "a turn of 200 kB beside them")
    path = json.loads((await (await Connection.open(brain.port, brain.key)).get("/sessions")).body)
    readers = await _joined(brain, [path["sessions"][0]["id"]] * count, buffer=4096)
    _remember(part, brain)
    done = await _repeated(part, brain, readers, _LARGE_TURNS, lambda: session.turn(_LARGE))
    done.delivered = 0
    session.close()
    return done


def _part(brain: Brain, name: str, work: str) -> Part:
    memory = {each: [resident_bytes(pid)] for each, pid in brain.processes.items()}
    return Part(name, work, Meter(brain.processes), memory=memory)


async def _joined(brain: Brain, sessions: list[str], buffer: int = 0) -> list[Follower]:
    """A reader of each, a hundred joining at a time."""
    readers: list[Follower] = []
    for first in range(0, len(sessions), 100):
        some = sessions[first : first + 100]
        readers += await asyncio.gather(*(Follower.open(brain, each, buffer) for each in some))
    return readers


def _remember(part: Part, brain: Brain) -> None:
    for name, pid in brain.processes.items():
        part.memory[name].append(resident_bytes(pid))


async def _repeated(
    part: Part,
    brain: Brain,
    readers: list[Follower],
    times: int,
    work: Callable[[], Awaitable[object]],
) -> Part:
    peaks = dict.fromkeys(brain.processes, 0)
    watching = asyncio.create_task(_watch_memory(brain, peaks))
    try:
        await part.meter.repeat(times, work)
    finally:
        watching.cancel()
    for name, peak in peaks.items():
        part.memory[name].append(peak)
    part.delivered = times * len(readers)
    for reader in readers:
        reader.close()
    return part


async def _watch_memory(brain: Brain, peaks: dict[str, int]) -> None:
    while True:
        for name, pid in brain.processes.items():
            peaks[name] = max(peaks[name], resident_bytes(pid))
        await asyncio.sleep(_SAMPLE_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
