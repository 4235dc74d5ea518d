"""Ways to lay events out in SQLite: what each costs, by the size of an event's body.

Every layout gets the same appends: four events in a commit, to one of 64 sessions at random.
Nothing waits for the disk here, since that costs each layout the same; what differs is the work
and the bytes. Above: `log`. Below: `sqlite3`.
"""

import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

SESSIONS = 64
EVENTS_BY_BODY = {200: 12_000, 1_500: 8_000, 5_000: 4_000, 20_000: 1_500, 100_000: 400}
_TOGETHER = 4
_ROUNDS = 3
_IDS = [f"ses_{number:026x}" for number in random.Random(1).sample(range(1 << 60), SESSIONS)]
_PAIR = "session_id TEXT NOT NULL, seq INTEGER NOT NULL, type TEXT NOT NULL, body BLOB NOT NULL"
_PAIR_KEY = "PRIMARY KEY (session_id, seq)"

Key = tuple[str | int, ...]


class Layout(NamedTuple):
    """A table, the key of an event in it, and the keys that lie around a session's events."""

    name: str
    create: str
    where: str
    key: Callable[[int, int], Key]
    around: Callable[[int], Key]


class Cost(NamedTuple):
    """For one event: CPU microseconds, and bytes.

    `written` goes to the write-ahead log, `fetched` is what a read without any cache asks for.
    """

    insert: float
    read: float
    delete: float
    written: float
    fetched: float
    kept: float


def _pair(session: int, seq: int) -> Key:
    return (_IDS[session], seq)


def _around_pair(session: int) -> Key:
    return (_IDS[session], 0)


def _place(session: int, seq: int) -> Key:
    return (session << 32 | seq,)


def _around_place(session: int) -> Key:
    return (session << 32, (session + 1) << 32)


LAYOUTS = (
    Layout(
        "(session_id, seq), rowid",
        f"CREATE TABLE events ({_PAIR}, {_PAIR_KEY}) STRICT",
        "session_id = ? AND seq > ?",
        _pair,
        _around_pair,
    ),
    Layout(
        "(session_id, seq), WITHOUT ROWID",
        f"CREATE TABLE events ({_PAIR}, {_PAIR_KEY}) STRICT, WITHOUT ROWID",
        "session_id = ? AND seq > ?",
        _pair,
        _around_pair,
    ),
    Layout(
        "one integer, number << 32 | seq",
        "CREATE TABLE events (place INTEGER PRIMARY KEY, type TEXT NOT NULL, body BLOB NOT NULL)"
        " STRICT",
        "place > ? AND place < ?",
        _place,
        _around_place,
    ),
)


def costs() -> Iterator[tuple[int, Layout, Cost]]:
    """What each layout costs, for each size of body: the best of a few rounds."""
    for size, count in EVENTS_BY_BODY.items():
        for layout in LAYOUTS:
            rounds = [_measure(layout, size, count) for _ in range(_ROUNDS)]
            yield size, layout, Cost(*map(min, zip(*rounds, strict=True)))


def _measure(layout: Layout, size: int, count: int) -> Cost:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        path = Path(folder) / "events.db"
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            for pragma in ("journal_mode = WAL", "synchronous = OFF", "wal_autocheckpoint = 0"):
                database.execute(f"PRAGMA {pragma}")
            database.execute("PRAGMA secure_delete = ON")
            database.execute(layout.create)
            insert, lengths = _insert(database, layout, size, count)
            written = path.with_name("events.db-wal").stat().st_size / count
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            kept = path.stat().st_size / count
            fetched = _fetched(path, layout) / count
            read = _of_each(database, layout, "SELECT * FROM events WHERE", lengths)
            delete = _of_each(database, layout, "DELETE FROM events WHERE", lengths)
    return Cost(insert, read, delete, written, fetched, kept)


def _insert(
    database: sqlite3.Connection, layout: Layout, size: int, count: int
) -> tuple[float, list[int]]:
    """CPU microseconds for each event, and how many events each session then has."""
    body, chosen, lengths = os.urandom(size), random.Random(2), [0] * SESSIONS
    marks = ", ".join("?" * (len(layout.key(0, 0)) + 2))
    started = time.process_time()
    for _ in range(count // _TOGETHER):
        session = chosen.randrange(SESSIONS)
        first = lengths[session] + 1
        lengths[session] += _TOGETHER
        keys = (layout.key(session, seq) for seq in range(first, first + _TOGETHER))
        database.execute("BEGIN IMMEDIATE")
        database.executemany(
            f"INSERT INTO events VALUES ({marks})", [(*key, "message.user", body) for key in keys]
        )
        database.execute("COMMIT")
    return (time.process_time() - started) / count * 1e6, lengths


def _of_each(
    database: sqlite3.Connection, layout: Layout, statement: str, lengths: list[int]
) -> float:
    """CPU microseconds for each event, going through the sessions one by one."""
    started = time.process_time()
    for session in range(SESSIONS):
        database.execute(f"{statement} {layout.where}", layout.around(session)).fetchall()
    return (time.process_time() - started) / sum(lengths) * 1e6


def _fetched(path: Path, layout: Layout) -> int:
    """Bytes that SQLite reads from the file for all sessions, each on a connection of its own."""
    before = _read_so_far()
    for session in range(SESSIONS):
        with closing(sqlite3.connect(path)) as database:
            query = f"SELECT * FROM events WHERE {layout.where}"
            database.execute(query, layout.around(session)).fetchall()
    return _read_so_far() - before


def _read_so_far() -> int:
    return int(Path("/proc/self/io").read_text(encoding="ascii").split()[1])
