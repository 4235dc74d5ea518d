"""What the SQLite log costs beside SQLite alone, on the disk where the temporary files are.

The log and the bare database take turns, so that a noisy moment hits both.
Above: `log`, `log_postgres`. Below: the log.
"""

import asyncio
import sqlite3
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import NamedTuple

from msgspec import Raw

from bench.meter import Meter
from brain.engine.log.protocol import Append, EventLog, SessionRecord, StoredEvent
from brain.engine.log.sqlite import open_sqlite
from brain_core import ids
from brain_core.session import SessionConfig
from brain_core.usage import Usage

AT_ONCE = 64
PAGE = 200
_ROUNDS = 10
_TIMES = 50
_NOW = "2026-12-01T09:00:00.000Z"
_BODY = b"x" * 300

Work = Callable[[], Awaitable[object]]


class Sessions:
    """Sessions to write to, each with its own count."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self.seqs: dict[str, int] = {}

    async def add(self) -> str:
        session_id = ids.session_id()
        config = SessionConfig("demo/script")
        record = SessionRecord(
            session_id, "local", "pi", config, Raw(b"{}"), "idle", False, _NOW, _NOW, 1, Usage()
        )
        await self._log.create(record, StoredEvent(1, "session.created", _BODY))
        self.seqs[session_id] = 1
        return session_id

    def append(self, session_id: str) -> Awaitable[None]:
        """One more event."""
        self.seqs[session_id] += 1
        event = StoredEvent(self.seqs[session_id], "message.user", _BODY)
        return self._log.append(Append(session_id, 1, (event,), "running", True, _NOW, Usage(1, 2)))


class Timed(NamedTuple):
    """A kind of work, what it is done to, and how long it took."""

    name: str
    work: Work
    meter: Meter


async def work() -> list[Timed]:
    """Measure each kind of work, in rounds."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        async with _log(Path(name) / "log.db") as log, _bare(Path(name) / "bare.db") as bare:
            kinds = [*_bare_work(bare), *await log_work(log), *_thread_work()]
            timed = [Timed(name, each, Meter({}, driver=True)) for name, each in kinds]
            for number in range(_ROUNDS):
                for each in timed:
                    await each.meter.repeat(_TIMES, each.work)
                    if number == 0:
                        each.meter.seconds.clear()
            return timed


async def log_work(log: EventLog) -> list[tuple[str, Work]]:
    """What a log does, by name."""
    sessions = Sessions(log)
    many = [await sessions.add() for _ in range(AT_ONCE)]
    one, claimed, read = await sessions.add(), await sessions.add(), await sessions.add()
    for _ in range(PAGE):
        await sessions.append(read)
    return [
        ("append", lambda: sessions.append(one)),
        (f"append, {AT_ONCE} at once", lambda: asyncio.gather(*map(sessions.append, many))),
        ("claim", lambda: log.claim(claimed)),
        ("get", lambda: log.get(one)),
        (f"read, {PAGE} events", lambda: log.read(read, 0, PAGE)),
    ]


def _bare_work(database: sqlite3.Connection) -> list[tuple[str, Work]]:
    async def commit(rows: int) -> None:
        database.execute("BEGIN IMMEDIATE")
        database.executemany("INSERT INTO bare (row) VALUES (?)", [(_BODY,)] * rows)
        database.execute("COMMIT")

    return [
        ("bare commit", lambda: commit(1)),
        (f"bare commit, {AT_ONCE} rows", lambda: commit(AT_ONCE)),
    ]


def _thread_work() -> list[tuple[str, Work]]:
    """The two ways to have a thread do something, which is what a read begins with."""
    loop, threads = asyncio.get_running_loop(), ThreadPoolExecutor(4)
    return [
        ("a thread of an executor", lambda: loop.run_in_executor(threads, int)),
        ("asyncio.to_thread", lambda: asyncio.to_thread(int)),
    ]


@asynccontextmanager
async def _log(path: Path) -> AsyncGenerator[EventLog]:
    log = await open_sqlite(path)
    try:
        yield log
    finally:
        await log.close()


@asynccontextmanager
async def _bare(path: Path) -> AsyncGenerator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE bare (id INTEGER PRIMARY KEY, row BLOB)")
        yield database
