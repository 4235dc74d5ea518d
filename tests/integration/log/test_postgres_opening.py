"""Opening a log on Postgres: its schema, and everything that can be wrong with a database."""

import asyncio
import struct
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from brain.engine.log import queries
from brain.engine.log.opening import LogCannotOpen
from brain.engine.log.postgres import open_postgres
from brain.engine.log.postgres_schema import migrations
from brain_testing.log_values import append, created, event, seqs
from brain_testing.postgres import PostgresServer

_SNAPSHOT = Path(__file__).with_name("postgres_schema.txt")
_COLUMNS = """
SELECT string_agg(line, E'\\n' ORDER BY line) FROM (
    SELECT format('%s.%s %s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
        CASE WHEN a.attcollation = 'pg_catalog."C"'::regcollation THEN ' COLLATE "C"' ELSE '' END,
        CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END) AS line
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.relnamespace = 'brain'::regnamespace AND c.relkind = 'r' AND a.attnum > 0
    UNION ALL
    SELECT indexdef FROM pg_indexes WHERE schemaname = 'brain'
) AS lines
"""


@pytest.fixture
async def empty(postgres_server: PostgresServer) -> str:
    """A database in which nothing is."""
    return await postgres_server.database()


async def refused(url: str) -> str:
    """Why the log can't be opened there."""
    with pytest.raises(LogCannotOpen) as raised:
        await open_postgres(url, "unix:/engine.sock")
    said = str(raised.value)
    assert "secret" not in said
    assert "/run" not in said
    assert "\n" not in said
    return said


@pytest.mark.requirement("REC-06")
async def test_engines_that_start_at_once_migrate_once(
    postgres_server: PostgresServer, empty: str
) -> None:
    url = postgres_server.url(empty)
    logs = await asyncio.gather(*(open_postgres(url, f"unix:/{n}.sock") for n in range(6)))
    session_id = await created(logs[0])
    for log in logs[1:]:
        assert await seqs(log, session_id) == [1]
    await asyncio.gather(*(log.close() for log in logs))

    done = "SELECT array_agg(number || ' ' || checksum ORDER BY number) FROM brain.migrations"
    assert await postgres_server.execute(done, empty) == [
        f"{number} {checksum}" for number, checksum, _ in migrations()
    ]
    assert await postgres_server.execute("SELECT count(*) FROM brain.engines", empty) == 0


@pytest.mark.requirement("REC-06")
async def test_the_migrations_lead_to_the_schema_of_the_snapshot(
    postgres_server: PostgresServer, postgres_database: str
) -> None:
    found = await postgres_server.execute(_COLUMNS, postgres_database)

    assert f"{found}\n" == _SNAPSHOT.read_text("utf-8")


def test_every_query_is_named_and_explained() -> None:
    file = "postgres_queries.sql"
    text = (Path(queries.__file__).parent / file).read_text("utf-8")

    assert len(queries.load(file)) == text.count("-- name: ") == text.count(";\n")


async def test_other_tables_may_be_beside_the_log(
    postgres_server: PostgresServer, empty: str
) -> None:
    await postgres_server.execute("CREATE TABLE public.sessions (theirs int)", empty)
    log = await open_postgres(postgres_server.url(empty), "unix:/engine.sock")
    assert await seqs(log, await created(log)) == [1]
    await log.close()

    assert await postgres_server.execute("SELECT count(*) FROM public.sessions", empty) == 0


@pytest.mark.requirement("REC-03")
async def test_a_schema_of_another_program_is_left_alone(
    postgres_server: PostgresServer, empty: str
) -> None:
    await postgres_server.execute("CREATE SCHEMA brain", empty)
    await postgres_server.execute("CREATE TABLE brain.neurons (theirs int)", empty)

    assert "belongs to another program" in await refused(postgres_server.url(empty))
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'brain'"
    assert await postgres_server.execute(tables, empty) == 1


@pytest.mark.requirement("REC-03")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("INSERT INTO brain.migrations VALUES (9999, 'x')", "written by a newer Brain"),
        ("UPDATE brain.migrations SET checksum = 'x'", "a Brain of another line"),
    ],
)
async def test_a_database_of_another_brain_is_left_alone(
    postgres_server: PostgresServer, postgres_database: str, change: str, said: str
) -> None:
    await postgres_server.execute(change, postgres_database)

    assert said in await refused(postgres_server.url(postgres_database))


@pytest.mark.requirement("REC-03")
async def test_a_user_without_rights_is_told_which_it_needs(
    postgres_server: PostgresServer, empty: str
) -> None:
    await postgres_server.execute(f"CREATE ROLE weak_{empty} LOGIN", empty)
    weak = postgres_server.url(empty, user=f"weak_{empty}")
    assert "Let it own the database" in await refused(weak)

    await postgres_server.execute(f"CREATE SCHEMA brain AUTHORIZATION weak_{empty}", empty)
    log = await open_postgres(weak, "unix:/engine.sock")
    assert await seqs(log, await created(log)) == [1]
    await log.close()


@pytest.mark.requirement("REC-03")
@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("default_transaction_read_only = on", "Name the primary in `store`"),
        ("synchronous_commit = off", "Set it to on"),
    ],
)
async def test_a_database_that_breaks_a_promise_is_refused(
    postgres_server: PostgresServer, empty: str, setting: str, said: str
) -> None:
    await postgres_server.execute(f"ALTER DATABASE {empty} SET {setting}", "postgres")

    assert said in await refused(postgres_server.url(empty))


@pytest.mark.requirement("REC-03")
async def test_a_database_of_another_encoding_is_refused(postgres_server: PostgresServer) -> None:
    await postgres_server.execute(
        "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'"
    )

    assert "encoding isn't UTF8" in await refused(postgres_server.url("latin"))


@pytest.mark.requirement("REC-03")
async def test_a_server_that_is_away_or_has_no_such_database_is_said_to_be(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    assert "no such database" in await refused(postgres_server.url("nowhere"))
    assert "See that it runs" in await refused(postgres_server.url("brain", folder=tmp_path))
    assert "See that it runs" in await refused("postgresql://brain:secret@127.0.0.1:1/brain")


@pytest.mark.requirement("REC-03")
async def test_a_wrong_password_is_said_to_be_and_is_not_repeated(
    own_server: PostgresServer,
) -> None:
    await own_server.execute("ALTER USER brain PASSWORD 'right'")
    (own_server.folder / "data" / "pg_hba.conf").write_text("local all all scram-sha-256\n")
    await asyncio.to_thread(own_server.stop)
    await asyncio.to_thread(own_server.start)
    url = own_server.url("postgres")

    assert "password is wrong" in await refused(url.replace("brain@", "brain:secret@", 1))
    log = await open_postgres(url.replace("brain@", "brain:right@", 1), "unix:/engine.sock")
    await log.ping()
    await log.close()


@asynccontextmanager
async def old_server() -> AsyncGenerator[str]:
    """A server of Postgres 9.6, as far as it says so; gives its address."""

    gone = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        (size,) = struct.unpack("!i", await reader.readexactly(4))
        await reader.readexactly(size - 4)
        writer.write(_message(b"R", struct.pack("!i", 0)))
        settings = {"server_version": "9.6.24", "client_encoding": "UTF8", "in_hot_standby": "off"}
        for name, value in settings.items():
            writer.write(_message(b"S", f"{name}\0{value}\0".encode()))
        writer.write(_message(b"Z", b"I"))
        await reader.read()
        writer.close()
        await writer.wait_closed()
        gone.set()

    with tempfile.TemporaryDirectory(prefix="brain-old-") as folder:
        server = await asyncio.start_unix_server(serve, Path(folder) / ".s.PGSQL.5432")
        yield f"postgresql://brain@/brain?host={folder}"
        await gone.wait()
        server.close()


def _message(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("!i", len(content) + 4) + content


@pytest.mark.requirement("REC-03")
async def test_a_server_that_is_too_old_is_refused() -> None:
    async with old_server() as url:
        assert "9.6" in await refused(url)


@pytest.mark.requirement("REC-03")
async def test_a_standby_is_refused_and_the_primary_found_among_several(
    own_server: PostgresServer, postgres_server: PostgresServer
) -> None:
    await own_server.become_standby()
    assert "it is a standby" in await refused(own_server.url("postgres"))

    folders = ",".join(str(each.socket.parent) for each in (own_server, postgres_server))
    log = await open_postgres(f"postgresql://brain@/postgres?host={folders}", "unix:/engine.sock")
    session_id = await created(log)
    await log.append(append(session_id, event(2)))
    await log.close()
