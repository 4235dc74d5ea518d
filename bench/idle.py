"""What rest costs: 10,000 sessions that wait for their next message, and a log of a million events.

Above: `make bench-idle`. Below: Brain as `brain_process` starts it.
"""

import asyncio
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import uvloop

from bench.brain_process import Brain, running_brain
from bench.lean_http import Connection, HttpError
from bench.proc import resident_bytes
from bench.processes import DidNotStart
from bench.readers import no_tools
from bench.turns import create_session, message

_SESSIONS, _ROUNDS, _EVENTS = 10_000, 4, 1_000_000
_CALLS, _LONG_TURNS, _TURN_SECONDS = 500, 5, 60.0
_REFUSED = message("\n".join(["/call nothing {}"] * _CALLS))
"""A turn of many events that needs no tool service: the session has no tool of this name."""
_AT_REST_SECONDS = 75.0
"""Longer than twice the time after which a session without work is let go."""


class Sample(NamedTuple):
    """What there was when the memory, in bytes, was looked at."""

    sessions: int
    events: int
    when: str
    memory: dict[str, int]


def main() -> int:
    """Run once and print; 1 if Brain did not start or answered wrongly."""
    divisor = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    at_rest = _AT_REST_SECONDS / divisor
    try:
        samples = uvloop.run(_stopping_cleanly(divisor, at_rest))
    except (DidNotStart, HttpError, TimeoutError, asyncio.IncompleteReadError) as error:
        print(f"bench: {error or 'Brain took too long to answer'}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, asyncio.CancelledError):
        return 130
    print(report(samples))
    return 0


def report(samples: list[Sample]) -> str:
    """The samples, a line each; the ratio is to the engine's first one."""
    lines = ["  sessions     events  edge MiB  engine MiB  ratio"]
    first = samples[0].memory["engine"]
    for sample in samples:
        edge, engine = sample.memory["edge"], sample.memory["engine"]
        lines.append(
            f"{sample.sessions:10,} {sample.events:10,} {edge / 2**20:9.1f} "
            f"{engine / 2**20:11.1f} {engine / first:6.2f}  {sample.when}"
        )
    return "\n".join(lines)


async def _stopping_cleanly(divisor: int, at_rest: float) -> list[Sample]:
    # SIGTERM unwinds the run, as Ctrl-C does, so that everything it started is stopped.
    running_it = asyncio.create_task(run(divisor, at_rest))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running_it.cancel)
    return await running_it


async def run(divisor: int, at_rest: float) -> list[Sample]:
    """One whole run, of a `divisor`-th of the sessions and events. Raises: DidNotStart, HttpError.

    `at_rest` is how long sessions without work are waited for, in seconds.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        async with running_brain(Path(name), no_tools()) as brain:
            return await _Run(brain).whole(divisor, at_rest)


class _Run:
    def __init__(self, brain: Brain) -> None:
        self._brain = brain
        self._sessions = 0
        self._events = 0
        self._samples: list[Sample] = []

    async def whole(self, divisor: int, at_rest: float) -> list[Sample]:
        await self._turns(64)  # what is only allocated once
        self._look("warm")
        for number in range(_ROUNDS):
            await self._turns(_SESSIONS // divisor // _ROUNDS)
            self._look("after a turn in each")
            if number in {0, _ROUNDS - 1}:
                await asyncio.sleep(at_rest)
                self._look("once they were at rest")
        await self._long_turns(_EVENTS // divisor)
        await asyncio.sleep(at_rest)
        self._look("once all were at rest")
        return self._samples

    async def _turns(self, count: int) -> None:
        """As many sessions, each with one turn."""
        posting = await Connection.open(self._brain.port, self._brain.key)
        for _ in range(count):
            session_id = await create_session(posting)
            answer = await posting.post(f"/sessions/{session_id}/messages", message("hello"))
            if answer.status != 202:
                raise HttpError(f"a message was answered {answer.status}")
            self._sessions, self._events = self._sessions + 1, self._events + 5
        posting.close()

    async def _long_turns(self, events: int) -> None:
        """Sessions of a few long turns each, until there are so many events."""
        quarter, marks = events // 4, 1
        begun = time.monotonic()
        made = 0
        while made < events:
            made += await self._long_session()
            if made >= marks * quarter:
                marks += 1
                self._look(f"{made / (time.monotonic() - begun):,.0f} events a second")

    async def _long_session(self) -> int:
        posting = await Connection.open(self._brain.port, self._brain.key)
        path = f"/sessions/{await create_session(posting)}"
        events = await (await Connection.open(self._brain.port, self._brain.key)).follow(
            f"{path}/events"
        )
        for _ in range(_LONG_TURNS):
            await posting.post(f"{path}/messages", _REFUSED)
            async with asyncio.timeout(_TURN_SECONDS):
                while (await events.next()).name != "turn.completed":
                    pass
        events.close()
        posting.close()
        made = 2 * _CALLS * _LONG_TURNS
        self._sessions, self._events = self._sessions + 1, self._events + made
        return made

    def _look(self, when: str) -> None:
        memory = {name: resident_bytes(pid) for name, pid in self._brain.processes.items()}
        self._samples.append(Sample(self._sessions, self._events, when, memory))


if __name__ == "__main__":
    sys.exit(main())
