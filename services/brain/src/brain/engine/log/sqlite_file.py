"""Opening the database file: its lock, its identity, its schema. Above: `sqlite`.

One engine at a time: a lock on a file beside the database is held for as long as it is open, and
the kernel lets it go however the process ends.
"""

import fcntl
import hashlib
import os
import sqlite3
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

APPLICATION_ID = 0x42524149
"""Written into the file's header, so that a foreign database is never taken for ours."""


class LogCannotOpen(Exception):
    """The log can't be opened; the message says why and what to do, for an operator."""


def lock(path: Path) -> int:
    """Become the only engine on this database. Gives the lock's file descriptor."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise LogCannotOpen(f"The log can't be kept in {path.parent}: {error.strerror}.") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise LogCannotOpen(
            f"Another Brain is using {path}. Stop it, or give this one another `store`."
        ) from None
    return descriptor


def connect_writer(path: Path) -> sqlite3.Connection:
    """The one connection that writes, with the schema up to date. Raises: LogCannotOpen."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        _check_identity(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # what a user deletes is gone
        _migrate(connection, path)
    except sqlite3.Error as error:
        raise LogCannotOpen(f"The log {path} can't be opened: {error}.") from error
    except OSError as error:
        raise LogCannotOpen(f"The log {path} can't be opened: {error.strerror}.") from error
    return connection


def connect_reader(path: Path) -> sqlite3.Connection:
    """A connection that only reads."""
    connection = sqlite3.connect(
        f"file:{path}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA query_only = ON")
    return connection


def migrations() -> Iterator[tuple[int, str, str]]:
    """Number, checksum and text of each migration, in order."""
    folder = files("brain.engine.log").joinpath("migrations")
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".sql"):
            text = file.read_text()
            yield int(file.name[:4]), hashlib.sha256(text.encode()).hexdigest(), text


def _check_identity(connection: sqlite3.Connection, path: Path) -> None:
    found: int = connection.execute("PRAGMA application_id").fetchone()[0]
    tables: int = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if found == APPLICATION_ID or (found == 0 and tables == 0):
        return
    raise LogCannotOpen(f"{path} is a database of another program. Choose another `store`.")


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, checksum TEXT NOT NULL)"
    )
    done = dict(connection.execute("SELECT number, checksum FROM migrations").fetchall())
    known = list(migrations())
    if set(done) - {number for number, _, _ in known}:
        connection.execute("ROLLBACK")
        raise LogCannotOpen(f"{path} was written by a newer Brain. Run that one, or a newer one.")
    for number, checksum, text in known:
        if number not in done:
            for statement in _statements(text):
                connection.execute(statement)
            connection.execute("INSERT INTO migrations VALUES (?, ?)", (number, checksum))
        elif done[number] != checksum:
            connection.execute("ROLLBACK")
            raise LogCannotOpen(f"{path} has a schema that this Brain doesn't know.")
    connection.execute("COMMIT")


def _statements(text: str) -> Iterator[str]:
    """Cut a script at its semicolons; `executescript` would commit in between."""
    statement = ""
    for line in text.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
