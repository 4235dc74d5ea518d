"""Whose database it is, and its schema, brought up to date. Above: `sqlite_file`.

Below: `migrations_of`.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from brain.engine.log.migrations_of import Migration, migrations_of
from brain.engine.log.opening import LogCannotOpen

APPLICATION_ID = 0x42524149
"""Written into the file's header, so that a foreign database is never taken for ours."""

_CREATE_MIGRATIONS = (
    "CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, checksum TEXT NOT NULL)"
)


def check_identity(connection: sqlite3.Connection, path: Path) -> None:
    """Only reads. Raises: LogCannotOpen, if another program made the database."""
    found: int = connection.execute("PRAGMA application_id").fetchone()[0]
    tables: int = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if found != APPLICATION_ID and (found or tables):
        raise LogCannotOpen(f"{path} is a database of another program. Choose another `store`.")


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Run the migrations that have not run yet, all or none. Raises: LogCannotOpen."""
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(_CREATE_MIGRATIONS)
    done = check_known(connection, path)
    for migration in migrations():
        if migration.number not in done:
            _run(connection, migration)
    connection.execute("COMMIT")


def check_known(connection: sqlite3.Connection, path: Path) -> set[int]:
    """The numbers of the migrations that have run. Only reads.

    Raises: LogCannotOpen, if this Brain doesn't know one of them.
    """
    done = dict(connection.execute("SELECT number, checksum FROM migrations").fetchall())
    known = {migration.number: migration.checksum for migration in migrations()}
    if done.keys() - known.keys():
        raise LogCannotOpen(f"{path} was written by a newer Brain. Run that one, or a newer one.")
    if any(known[number] != checksum for number, checksum in done.items()):
        raise LogCannotOpen(
            f"{path} was written by a Brain of another line. Run that one,"
            " or choose another `store`."
        )
    return set(done)


def migrations() -> Iterator[Migration]:
    """All migrations, in order."""
    return migrations_of("migrations")


def _run(connection: sqlite3.Connection, migration: Migration) -> None:
    for statement in _statements(migration.text):
        connection.execute(statement)
    connection.execute("INSERT INTO migrations VALUES (?, ?)", migration[:2])


def _statements(text: str) -> Iterator[str]:
    """Cut a script at its semicolons; `executescript` would commit in between."""
    statement = ""
    for line in text.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
