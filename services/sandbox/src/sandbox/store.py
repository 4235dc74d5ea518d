"""Which session has which sandbox, and which jobs, on disk. Above: `pool`. Below: SQLite.

One connection, used on the event loop's own thread: a row for each sandbox and each job.
"""

import fcntl
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from sandbox.provider import Key
from tool_service import CannotServe

FILE = "sandboxes.db"
_APPLICATION_ID = 0x42424F58  # "BBOX"
_VERSION = 1
_SCHEMA = f"""
BEGIN;
CREATE TABLE sandboxes (
    tenant_id TEXT NOT NULL, session_id TEXT NOT NULL, provider TEXT NOT NULL,
    sandbox TEXT NOT NULL, made_at REAL NOT NULL, used_at REAL NOT NULL,
    ended_why TEXT,
    PRIMARY KEY (tenant_id, session_id, provider)
) STRICT;
CREATE TABLE jobs (
    job_id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, session_id TEXT NOT NULL,
    provider TEXT NOT NULL, sandbox TEXT NOT NULL, made_at REAL NOT NULL,
    ended INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX jobs_of_a_sandbox ON jobs (provider, sandbox, ended);
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {_VERSION};
COMMIT;
"""


class Row(Struct, frozen=True):
    """A sandbox. Times are seconds since 1970."""

    key: Key
    sandbox: str
    made_at: float
    used_at: float


class Store:
    """The sandboxes and jobs of one provider. Every change is on disk when its method returns."""

    def __init__(self, connection: sqlite3.Connection, provider: str) -> None:
        self._connection = connection
        self._provider = provider

    def get(self, key: Key) -> Row | None:
        found = self._connection.execute(
            "SELECT * FROM sandboxes WHERE tenant_id = ? AND session_id = ? AND provider = ?"
            " AND ended_why IS NULL",
            (key.tenant_id, key.session_id, self._provider),
        ).fetchone()
        return None if found is None else _row(found)

    def ended_why(self, key: Key) -> str | None:
        """Why a session's last sandbox ended, if the session doesn't know of it yet."""
        found = self._connection.execute(
            "SELECT ended_why FROM sandboxes WHERE tenant_id = ? AND session_id = ?"
            " AND provider = ?",
            (key.tenant_id, key.session_id, self._provider),
        ).fetchone()
        return None if found is None else found["ended_why"]

    def all(self) -> list[Row]:
        found = self._connection.execute(
            "SELECT * FROM sandboxes WHERE provider = ? AND ended_why IS NULL", (self._provider,)
        )
        return [_row(each) for each in found]

    def count(self, tenant_id: str) -> int:
        """How many sandboxes a tenant has."""
        return self._connection.execute(
            "SELECT count(*) FROM sandboxes WHERE tenant_id = ? AND provider = ?"
            " AND ended_why IS NULL",
            (tenant_id, self._provider),
        ).fetchone()[0]

    def put(self, key: Key, sandbox: str, now: float) -> Row:
        """A session's new sandbox, in the place of an earlier one."""
        self._connection.execute(
            "INSERT OR REPLACE INTO sandboxes VALUES (?, ?, ?, ?, ?, ?, NULL)",
            (key.tenant_id, key.session_id, self._provider, sandbox, now, now),
        )
        return Row(key, sandbox, now, now)

    def used(self, sandbox: str, now: float) -> None:
        """Note a use. On a full disk it goes without: what was done isn't lost for that."""
        with suppress(sqlite3.Error):
            self._connection.execute(
                "UPDATE sandboxes SET used_at = ? WHERE sandbox = ? AND provider = ?",
                (now, sandbox, self._provider),
            )

    def end(self, sandbox: str, why: str) -> None:
        """A sandbox has ended. Its jobs stay, to be told as lost."""
        self._connection.execute(
            "UPDATE sandboxes SET ended_why = ? WHERE sandbox = ? AND provider = ?",
            (why, sandbox, self._provider),
        )

    def forget(self, key: Key) -> None:
        """The session knows that it has no sandbox."""
        self._connection.execute(
            "DELETE FROM sandboxes WHERE tenant_id = ? AND session_id = ? AND provider = ?",
            (key.tenant_id, key.session_id, self._provider),
        )

    def forget_before(self, moment: float) -> None:
        """Drop what ended, and jobs that began, before that."""
        self._connection.execute(
            "DELETE FROM sandboxes WHERE ended_why IS NOT NULL AND used_at < ?", (moment,)
        )
        self._connection.execute("DELETE FROM jobs WHERE made_at < ?", (moment,))

    def add_job(self, job_id: str, key: Key, sandbox: str, now: float) -> None:
        self._connection.execute(
            "INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, 0)",
            (job_id, key.tenant_id, key.session_id, self._provider, sandbox, now),
        )

    def sandbox_of_job(self, job_id: str, key: Key) -> str | None:
        """Where a session's job runs or ran; None if the session has no such job."""
        found = self._connection.execute(
            "SELECT sandbox FROM jobs WHERE job_id = ? AND tenant_id = ? AND session_id = ?"
            " AND provider = ?",
            (job_id, key.tenant_id, key.session_id, self._provider),
        ).fetchone()
        return None if found is None else found["sandbox"]

    def open_jobs(self, sandbox: str) -> list[str]:
        """The jobs that aren't known to have ended."""
        found = self._connection.execute(
            "SELECT job_id FROM jobs WHERE provider = ? AND sandbox = ? AND ended = 0",
            (self._provider, sandbox),
        )
        return [each["job_id"] for each in found]

    def end_job(self, job_id: str) -> None:
        self._connection.execute("UPDATE jobs SET ended = 1 WHERE job_id = ?", (job_id,))


@contextmanager
def opened(data: Path, provider: str) -> Generator[Store]:
    """The store in a folder, made if it isn't there. Raises: CannotServe."""
    with _locked(data):
        connection = _connected(data / FILE)
        try:
            yield Store(connection, provider)
        finally:
            connection.close()


@contextmanager
def _locked(data: Path) -> Generator[None]:
    """Keep a second service out: each would end the other's sandboxes."""
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


def _connected(file: Path) -> sqlite3.Connection:
    try:
        file.touch(mode=0o600)
        connection = sqlite3.connect(file, isolation_level=None)
    except (sqlite3.Error, OSError) as error:
        raise CannotServe(f"{file} can't be used: {error}.") from error
    try:
        connection.row_factory = sqlite3.Row
        _make_or_check(connection, file)
    except BaseException as error:
        connection.close()
        if isinstance(error, sqlite3.Error):
            raise CannotServe(f"{file} can't be used: {error}.") from error
        raise
    return connection


def _make_or_check(connection: sqlite3.Connection, file: Path) -> None:
    """Nothing is changed in a file that isn't ours."""

    def one(query: str) -> int:
        return connection.execute(query).fetchone()[0]

    new = not one("SELECT count(*) FROM sqlite_schema")
    if not new and one("PRAGMA application_id") != _APPLICATION_ID:
        raise CannotServe(f"{file} is a database of something else: choose another --data.")
    if not new and one("PRAGMA user_version") != _VERSION:
        raise CannotServe(f"{file} was written by a newer version of this service.")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    if new:
        connection.executescript(_SCHEMA)


def _row(found: sqlite3.Row) -> Row:
    key = Key(found["tenant_id"], found["session_id"])
    return Row(key, found["sandbox"], found["made_at"], found["used_at"])
