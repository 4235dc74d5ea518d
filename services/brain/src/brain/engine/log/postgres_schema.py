"""Whether a database can hold the log, and its schema, brought up to date. Above: `postgres`.

Below: `asyncpg`. All of it is in a schema named `brain`, so that other tables may be beside it.
"""

from collections.abc import Iterator

import asyncpg

from brain.engine.log.migrations_of import Migration, migrations_of
from brain.engine.log.opening import LogCannotOpen
from brain.engine.log.postgres_connections import Connection
from brain.engine.log.postgres_errors import FAILED, reason

OLDEST = 14
_LOCK = 0x42524149
"""The advisory lock that whoever changes the schema holds: two engines may start at once."""

_CREATE_MIGRATIONS = (
    "CREATE TABLE IF NOT EXISTS brain.migrations (number int PRIMARY KEY, checksum text NOT NULL)"
)


async def prepare(connection: Connection) -> None:
    """Check the server, then run the migrations that have not run yet. Raises: LogCannotOpen."""
    version = str(connection.get_settings().server_version)
    if int(version.partition(".")[0].split()[0]) < OLDEST:
        raise LogCannotOpen(f"This Postgres is {version}, and Brain needs {OLDEST} or newer.")
    try:
        await _check_promises(connection)
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
            await _migrate(connection)
    except asyncpg.InsufficientPrivilegeError as error:
        raise LogCannotOpen(
            "Postgres doesn't let this user keep the log. Let it own the database"
            " (ALTER DATABASE … OWNER TO …), or the schema `brain` in it."
        ) from error
    except FAILED as error:
        raise LogCannotOpen(f"Postgres can't keep the log: {reason(error)}.") from error


def migrations() -> Iterator[Migration]:
    """All migrations, in order."""
    return migrations_of("migrations/postgres")


async def _check_promises(connection: Connection) -> None:
    if await connection.fetchval("SHOW server_encoding") != "UTF8":
        raise LogCannotOpen("The database's encoding isn't UTF8. Make one whose encoding is.")
    if await connection.fetchval("SHOW synchronous_commit") == "off":
        raise LogCannotOpen(
            "Postgres acknowledges what isn't on its disk yet (synchronous_commit = off). Set it to"
            " on for this database or user."
        )


async def _migrate(connection: Connection) -> None:
    if await connection.fetchval("SELECT to_regnamespace('brain') IS NULL"):
        await connection.execute("CREATE SCHEMA brain")
    await _check_identity(connection)
    await connection.execute(_CREATE_MIGRATIONS)
    done = await _check_known(connection)
    for migration in migrations():
        if migration.number not in done:
            await connection.execute(migration.text)
            await connection.execute(
                "INSERT INTO brain.migrations VALUES ($1, $2)",
                migration.number,
                migration.checksum,
            )


async def _check_identity(connection: Connection) -> None:
    tables = await connection.fetch(
        "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = 'brain'"
    )
    names = {row[0] for row in tables}
    if names and "migrations" not in names:
        raise LogCannotOpen(
            "The schema `brain` of this database belongs to another program. Choose another"
            " database."
        )


async def _check_known(connection: Connection) -> set[int]:
    """The numbers of the migrations that have run. Raises: LogCannotOpen."""
    done = {
        row[0]: row[1]
        for row in await connection.fetch("SELECT number, checksum FROM brain.migrations")
    }
    known = {migration.number: migration.checksum for migration in migrations()}
    if done.keys() - known.keys():
        raise LogCannotOpen("The database was written by a newer Brain. Run that one, or a newer.")
    if any(known[number] != checksum for number, checksum in done.items()):
        raise LogCannotOpen(
            "The database was written by a Brain of another line. Run that one, or choose another"
            " `store`."
        )
    return set(done)
