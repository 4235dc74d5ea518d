"""Measure the Postgres log on this machine: what its work costs, and by which driver.

Run it with `.venv/bin/python -m bench.log_postgres`; it takes about half a minute. psycopg is
measured only where it is installed: `.venv/bin/uv pip install 'psycopg[binary]'`.
Above: nothing. Below: the log, `log_work`, a Postgres of its own that syncs to the disk.
"""

import asyncio
import importlib
import importlib.util
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import uvloop

from bench.log_work import AT_ONCE, PAGE, Work, log_work
from bench.meter import DRIVER, Meter
from brain.engine.log import queries
from brain.engine.log.postgres import open_postgres
from brain_testing.log_values import event, record
from brain_testing.postgres import PostgresServer

_ROUNDS = 10
_TIMES = 50
_BODY = b"x" * 300
_Q = queries.load("postgres_queries.sql")


async def _measure(server: PostgresServer) -> None:
    version = await server.execute("SHOW server_version")
    print(f"Postgres {version}, Python {sys.version.split()[0]}")
    print("ms: p50, and CPU of this process\n")
    log = await open_postgres(server.url(await server.database()), "")
    await _print("the log", await log_work(log))
    await log.close()
    async with _asyncpg(server.url("postgres")) as run:
        await _print("asyncpg", await _statements(server, run))
    if importlib.util.find_spec("psycopg") is not None:
        async with _psycopg(server.url("postgres")) as run:
            await _print("psycopg", await _statements(server, run))


async def _print(title: str, kinds: list[tuple[str, Work]]) -> None:
    print(f"{title:<34}{'p50':>9}{'CPU':>9}")
    for name, work in kinds:
        meter = Meter({}, driver=True)
        await meter.repeat(_TIMES, work)
        meter = Meter({}, driver=True)
        await meter.repeat(_TIMES * _ROUNDS, work)
        cpu = meter.cpu_each()[DRIVER] * 1000
        print(f"{name:<34}{meter.percentile(50) * 1000:>9.3f}{cpu:>9.3f}")
    print()


class _Statements:
    """The log's own statements, as one driver sends them."""

    def __init__(self, run: Any, owner: str, sessions: list[str]) -> None:
        self._run = run
        self._owner = owner
        self._sessions = sessions
        self._seq = 1

    async def append(self, count: int) -> None:
        ids, before = self._sessions[:count], self._seq
        self._seq += 1
        rows = await self._run(
            _Q["append"], self._owner, ids, [1] * count, [before] * count, [self._seq] * count,
            ["running"] * count, [True] * count, ["2026-12-01T09:00:00.000Z"] * count,
            [b"{}"] * count, list(range(1, count + 1)), [self._seq] * count,
            ["message.user"] * count, [_BODY] * count,
        )  # fmt: skip
        assert len(rows) == count

    async def read(self) -> None:
        rows = await self._run(_Q["read_events"], self._sessions[0], 0, PAGE, 1 << 23)
        assert len(rows) == PAGE + 1


async def _statements(server: PostgresServer, run: Any) -> list[tuple[str, Work]]:
    log = await open_postgres(server.url("postgres"), "")
    groups: list[list[str]] = []
    for _ in range(2):
        new = [record() for _ in range(AT_ONCE)]
        await asyncio.gather(*(log.create(each, event(1)) for each in new))
        groups.append([each.id for each in new])
    owner = await server.execute("SELECT id FROM brain.engines")
    await log.close()
    one, many = (_Statements(run, owner, group) for group in groups)
    return [
        ("append", lambda: one.append(1)),
        (f"append to {AT_ONCE} at once", lambda: many.append(AT_ONCE)),
        (f"read, {PAGE} events", one.read),
    ]


@asynccontextmanager
async def _asyncpg(url: str) -> AsyncGenerator[Any]:
    connection = await importlib.import_module("asyncpg").connect(url)
    yield connection.fetch
    await connection.close()


@asynccontextmanager
async def _psycopg(url: str) -> AsyncGenerator[Any]:
    driver = importlib.import_module("psycopg")
    connection = await driver.AsyncConnection.connect(url, autocommit=True)
    connection.prepare_threshold = 0

    async def run(query: str, *values: object) -> list[Any]:
        cursor = driver.AsyncRawCursor(connection)
        await cursor.execute(query, values, binary=True)
        return await cursor.fetchall()

    yield run
    await connection.close()


def main() -> int:
    """Run once and print."""
    server = PostgresServer()
    try:
        server.start(fsync="on", full_page_writes="on")
        uvloop.run(_measure(server))
    finally:
        server.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
