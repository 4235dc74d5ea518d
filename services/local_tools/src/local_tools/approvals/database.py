"""The SQLite file of approvals: opened, made, kept to one process. Above: `store`, `sign_ins`."""

import fcntl
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from tool_service import CannotServe

FILE = "approvals.db"
_APPLICATION_ID = 0x42415050  # "BAPP"
_VERSION = 1


class StoreUnavailable(Exception):
    """The file can't be read or written just now: a full disk, say."""


class Database:
    """One connection.

    It is used on the event loop's own thread. A decision takes a person, and a commit a
    millisecond; that nothing else runs in between is what makes a decision one step.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """All or nothing. Raises: StoreUnavailable."""
        try:
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error as error:
            raise StoreUnavailable(str(error)) from error

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """For statements that change nothing: a full disk doesn't stop these.

        Raises: StoreUnavailable.
        """
        try:
            yield self._connection
        except sqlite3.Error as error:
            raise StoreUnavailable(str(error)) from error


@contextmanager
def opened(data: Path) -> Generator[Database]:
    """The database in a folder, made if it isn't there. Raises: CannotServe."""
    with _locked(data):
        connection = _connect(data / FILE)
        try:
            yield Database(connection)
        finally:
            connection.close()


@contextmanager
def _locked(data: Path) -> Generator[None]:
    """Keep a second service out: it would take our pending requests for left behind."""
    try:
        file = (data / "lock").open("w")
    except OSError as error:
        raise CannotServe(f"it can't write to {data}: {error.strerror}.") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotServe(
                f"another service uses {data}: stop it, or choose another folder with --data."
            ) from None
        yield


def _connect(file: Path) -> sqlite3.Connection:
    connection: sqlite3.Connection | None = None
    try:
        file.touch(mode=0o600)
        connection = sqlite3.connect(file, isolation_level=None)
        connection.row_factory = sqlite3.Row
        new = _is_new(connection, file)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        if new:
            _make(connection)
    except (sqlite3.Error, OSError, CannotServe) as error:
        if connection is not None:
            connection.close()
        if isinstance(error, CannotServe):
            raise
        raise CannotServe(f"{file} can't be used: {error}.") from error
    return connection


def _is_new(connection: sqlite3.Connection, file: Path) -> bool:
    """Whether it is empty. Nothing is changed in a file that isn't ours. Raises: CannotServe."""
    application, version, tables = (
        connection.execute(query).fetchone()[0]
        for query in (
            "PRAGMA application_id",
            "PRAGMA user_version",
            "SELECT count(*) FROM sqlite_schema",
        )
    )
    if not tables:
        return True
    if application != _APPLICATION_ID:
        raise CannotServe(f"{file} is a database of something else: choose another --data.")
    if version != _VERSION:
        raise CannotServe(f"{file} was written by a newer version of this service.")
    return False


def _make(connection: sqlite3.Connection) -> None:
    script = files("local_tools.approvals").joinpath("schema.sql").read_text("utf-8")
    marks = f"PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {_VERSION};"
    connection.executescript(f"BEGIN; {script} {marks} COMMIT;")
