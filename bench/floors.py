"""The floors: what the parts of a turn would cost if Brain did nothing with them.

A bare FastAPI POST and a bare gRPC call over a Unix socket, each to a process of its own, and a
bare SQLite commit on the disk that Brain's log is on.
Above: `measure`. Below: `floor_http`, `floor_grpc`.
"""

import os
import sqlite3
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import TypeAlias

import grpc

from bench.floor_grpc import METHOD
from bench.lean_http import Connection
from bench.meter import Meter
from bench.processes import free_port, ready, running

_Call: TypeAlias = "grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]"
_BODY = b'{"content":"' + b"x" * 40 + b'"}'
_ROW = b"x" * 300
_REPOSITORY = Path(__file__).parents[1]


class Floors:
    """The three floors, measured whenever asked."""

    def __init__(
        self,
        http: Connection,
        call: _Call,
        database: sqlite3.Connection,
        pids: dict[str, int],
    ) -> None:
        self._http = http
        self._call = call
        self._database = database
        self._pids = pids
        self.reset()

    def reset(self) -> None:
        """Forget what was measured so far."""
        self.post = Meter({"server": self._pids["http"]})
        # A call costs Brain on both sides, and here the driver is the other side.
        self.grpc = Meter({"server": self._pids["grpc"]}, driver=True)
        self.commit = Meter({}, driver=True)

    async def measure(self, times: int) -> None:
        """Measure each floor this many times."""
        await self.post.repeat(times, lambda: self._http.post("/", _BODY))
        await self.grpc.repeat(times, lambda: self._call(_BODY))
        await self.commit.repeat(times, self._commit)

    async def _commit(self) -> None:
        self._database.execute("INSERT INTO floor (row) VALUES (?)", (_ROW,))
        self._database.commit()


@asynccontextmanager
async def running_floors(folder: Path) -> AsyncGenerator[Floors]:
    """The floors' processes, while the block runs."""
    port, address = free_port(), f"unix:{folder}/floor.sock"
    env = {**os.environ, "PYTHONPATH": str(_REPOSITORY)}
    python = [sys.executable, "-m"]
    with (
        running([*python, "bench.floor_http", str(port)], folder, env) as http,
        running([*python, "bench.floor_grpc", address], folder, env) as rpc,
        closing(_database(folder / "floor.db")) as database,
    ):
        await ready(http, port, "/healthz")
        async with grpc.aio.insecure_channel(address) as channel:
            call: _Call = channel.unary_unary(METHOD)
            await call(_BODY, wait_for_ready=True, timeout=20)
            connection = await Connection.open(port)
            yield Floors(connection, call, database, {"http": http.pid, "grpc": rpc.pid})
            connection.close()


def _database(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE floor (id INTEGER PRIMARY KEY, row BLOB)")
    return database
