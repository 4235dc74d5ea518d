"""One session as a client has it: an event stream that stays open, and messages posted beside it.

Above: `measure`. Below: `lean_http`.
"""

import asyncio
import json
import time
from typing import NamedTuple, Self

from bench.brain_process import Brain
from bench.lean_http import Connection, EventStream, HttpError

_TURN_SECONDS = 20.0
_FAILURES = ("turn.failed", "turn.interrupted")
_CREATE = json.dumps(
    {"harness": "pi", "config": {"model": "demo/script", "tools": ["echo"]}}
).encode()


class Turn(NamedTuple):
    """What a turn took until its end and its first delta, and how many deltas it had."""

    seconds: float
    first_delta: float
    deltas: int


def message(text: str) -> bytes:
    """A message's request body."""
    return json.dumps({"content": text}).encode()


async def create_session(connection: Connection) -> str:
    """Create a session; gives its id."""
    answer = await connection.post("/sessions", _CREATE)
    if answer.status != 201:
        raise HttpError(f"POST /sessions answered {answer.status}: {answer.body.decode()}")
    return json.loads(answer.body)["id"]


class Session:
    """A session, its event stream, and a connection to post on."""

    def __init__(self, path: str, connection: Connection, events: EventStream) -> None:
        self._path = path
        self._connection = connection
        self._events = events

    @classmethod
    async def open(cls, brain: Brain) -> Self:
        """Create a session and follow it."""
        connection = await Connection.open(brain.port, brain.key)
        path = f"/sessions/{await create_session(connection)}"
        events = await (await Connection.open(brain.port, brain.key)).follow(f"{path}/events")
        return cls(f"{path}/messages", connection, events)

    async def turn(self, body: bytes) -> Turn:
        """Post a message and read events until its turn is completed."""
        started = time.perf_counter()
        self._connection.send_post(self._path, body)
        async with asyncio.timeout(_TURN_SECONDS):
            first_delta, deltas = await self._read_turn(started)
            took = time.perf_counter() - started
            answer = await self._connection.answer()
        if answer.status != 202:
            raise HttpError(f"POST {self._path} answered {answer.status}")
        return Turn(took, first_delta, deltas)

    async def _read_turn(self, started: float) -> tuple[float, int]:
        first_delta, deltas = 0.0, 0
        while (event := await self._events.next()).name != "turn.completed":
            if event.name == "message.delta":
                deltas += 1
                first_delta = first_delta or time.perf_counter() - started
            elif event.name in _FAILURES or b'"is_error":true' in event.block:
                raise HttpError(f"a turn went wrong: {event.block.decode()}")
        return first_delta, deltas

    def close(self) -> None:
        """Leave the session; it goes on without this client."""
        self._connection.close()
        self._events.close()
