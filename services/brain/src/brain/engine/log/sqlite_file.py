"""The database file: its lock, its identity, its connections. Above: `sqlite`. Below: `sqlite3`.

One engine at a time: a lock on a file beside the database is held for as long as it is open, and
the kernel lets it go however the process ends.
"""

import fcntl
import os
import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from brain.engine.log.opening import LogCannotOpen
from brain.engine.log.sqlite_schema import check_identity, migrate
from brain.engine.log.sqlite_writer import BUSY_MS

_OLDEST_SQLITE = (3, 37)  # the first with STRICT tables
_WAL_BYTES = 16 * 1024 * 1024


class Database:
    """An open database: one connection that writes, and some that only read."""

    def __init__(
        self,
        writer: sqlite3.Connection,
        readers: Sequence[sqlite3.Connection],
        resources: ExitStack,
    ) -> None:
        self.writer = writer
        self.readers = readers
        self._resources = resources

    def close(self) -> None:
        """Close the readers, then the writer, which folds the write-ahead log in; then unlock."""
        self._resources.close()


def open_database(path: Path, readers: int) -> Database:
    """Open the database, making it if it isn't there. Raises: LogCannotOpen."""
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise LogCannotOpen(f"Brain needs SQLite 3.37, and Python has {sqlite3.sqlite_version}.")
    path = path.resolve()  # one database, one lock, whatever links lead to it
    with ExitStack() as resources:
        try:
            resources.callback(os.close, lock_database(path))
            writer = _connect_writer(path, resources)
            connections = [_connect_reader(path, resources) for _ in range(readers)]
        except sqlite3.Error as error:
            raise LogCannotOpen(explain(path, error)) from error
        except OSError as error:
            raise LogCannotOpen(
                f"The log can't be kept in {path}: {error.strerror}. Let Brain write there,"
                " or choose another `store`."
            ) from error
        return Database(writer, connections, resources.pop_all())


def lock_database(path: Path) -> int:
    """Become the only one to use this database, until the descriptor that it gives is closed.

    Raises: LogCannotOpen, if another does; OSError.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise LogCannotOpen(
            f"Another Brain is using {path}. Stop it, or give this one another `store`."
        ) from None
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _connect_writer(path: Path, resources: ExitStack) -> sqlite3.Connection:
    """The one connection that writes, with the schema up to date."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    connection = _connect(path, "rw", resources)
    check_identity(connection, path)
    if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
        raise LogCannotOpen(f"{path} isn't on a local disk, as SQLite's WAL needs. Put it on one.")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA secure_delete = ON")  # what a user deletes is gone
    connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
    migrate(connection, path)
    return connection


def _connect_reader(path: Path, resources: ExitStack) -> sqlite3.Connection:
    return _connect(path, "ro", resources)


def _connect(path: Path, mode: str, resources: ExitStack) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_MS / 1000,
        isolation_level=None,
        check_same_thread=False,
    )
    resources.callback(connection.close)
    return connection


def explain(path: Path, error: sqlite3.Error) -> str:
    """What SQLite's error means, and what to do."""
    match error.sqlite_errorcode & 0xFF:
        case sqlite3.SQLITE_NOTADB:
            return f"{path} isn't a database. Choose another `store`, or move that file away."
        case sqlite3.SQLITE_CORRUPT:
            return (
                f"{path} is damaged: {error}. Put back a copy of it (`brain restore`), or move it"
                " and its -wal and -shm files away, to begin anew."
            )
        case _:
            return f"The log {path} can't be opened: {error}. Check its disk and its permissions."
