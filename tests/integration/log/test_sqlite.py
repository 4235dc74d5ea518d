"""The event log on SQLite: the cases of every log, and what is its own in ordinary times."""

import asyncio
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from brain.engine.log import queries
from brain.engine.log.protocol import EventLog, LogUnavailable, StaleOwner, StoredEvent
from brain.engine.log.sqlite import open_sqlite
from brain.engine.log.sqlite_schema import APPLICATION_ID, migrations
from brain_testing.log_cases import EventLogCases
from brain_testing.log_values import append, created, event, record, seqs

_SNAPSHOT = Path(__file__).with_name("schema.sql")


class TestSqlite(EventLogCases):
    pass


async def test_closing_writes_what_was_asked_for(path: Path) -> None:
    first = await open_sqlite(path)
    session_id = await created(first)
    writes = [first.append(append(session_id, event(seq))) for seq in range(2, 50)]
    deletion = asyncio.create_task(first.delete(await created(first), 1))
    await asyncio.sleep(0)
    await first.close()
    await asyncio.gather(*writes, deletion)

    again = await open_sqlite(path)
    assert await seqs(again, session_id) == list(range(1, 50))
    await again.close()


async def test_a_closed_log_can_be_closed_but_not_used(path: Path) -> None:
    log = await open_sqlite(path)
    session_id = await created(log)
    await log.close()
    await log.close()

    for use in (log.append(append(session_id, event(2))), log.get(session_id), log.ping()):
        with pytest.raises(LogUnavailable, match="closed"):
            await use


async def test_nobody_else_can_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "data" / "brain.db"
    log = await open_sqlite(path)
    await created(log)

    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()} == {0o600}
    await log.close()


async def test_a_path_may_have_any_characters(tmp_path: Path) -> None:
    path = tmp_path / "a b?c#d%20é" / "brain.db"
    log = await open_sqlite(path)
    assert await seqs(log, await created(log)) == [1]
    await log.close()

    assert path.is_file()


async def test_reads_go_on_while_a_write_waits_for_another_program(
    log: EventLog, path: Path
) -> None:
    session_id = await created(log)
    with closing(sqlite3.connect(path, isolation_level=None)) as shell:
        shell.execute("BEGIN IMMEDIATE")
        write = asyncio.ensure_future(log.append(append(session_id, event(2))))
        assert await seqs(log, session_id) == [1]
        assert (await log.list_sessions("local", 9, None, None)).sessions[0].last_seq == 1
        assert not write.done()
        shell.execute("ROLLBACK")

    await write
    assert await seqs(log, session_id) == [1, 2]


async def test_a_write_that_is_itself_at_fault_fails_alone(log: EventLog) -> None:
    good, bad = await created(log), await created(log)
    impossible = StoredEvent(2, "\ud800", b"")
    writes = [
        log.append(append(good, event(2))),
        log.append(append(bad, impossible)),
        log.append(append(bad, event(3))),
        log.append(append(good, event(3))),
        log.append(append(good, event(3))),
    ]
    outcomes = await asyncio.gather(*writes, return_exceptions=True)

    kinds = [type(outcome) for outcome in outcomes]
    assert kinds == [type(None), UnicodeEncodeError, LogUnavailable, type(None), StaleOwner]
    assert (await seqs(log, good), await seqs(log, bad)) == ([1, 2, 3], [1])
    await log.append(append(bad, event(2)))


async def test_sessions_that_an_earlier_process_left_with_work_are_claimed_once(
    path: Path,
) -> None:
    log = await open_sqlite(path)
    await created(log)
    working = [await created(log) for _ in range(3)]
    done = await created(log)
    for session_id in (*working, done):
        await log.append(append(session_id, event(2)))
    await log.append(append(done, event(3), status="idle", open=False))
    await log.close()

    again = await open_sqlite(path)
    found = [*await again.claim_open(2), *await again.claim_open(2), *await again.claim_open(2)]
    assert [each.session_id for each in found] == working
    assert {each.epoch for each in found} == {2}
    await again.append(append(working[0], event(3), epoch=2))
    await again.close()


async def test_thousands_of_sessions_write_at_once(log: EventLog) -> None:
    new = [record() for _ in range(2000)]
    await asyncio.gather(*(log.create(each, event(1)) for each in new))
    await asyncio.gather(*(log.append(append(each.id, event(2))) for each in new))

    assert [await seqs(log, each.id) for each in new] == [[1, 2]] * 2000


async def test_the_file_says_whose_it_is_and_which_migrations_it_has(path: Path) -> None:
    await (await open_sqlite(path)).close()

    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        done = raw.execute("SELECT number, checksum FROM migrations ORDER BY number").fetchall()
    assert done == [(number, checksum) for number, checksum, _ in migrations()]


async def test_the_migrations_lead_to_the_schema_of_the_snapshot(path: Path) -> None:
    await (await open_sqlite(path)).close()

    with closing(sqlite3.connect(path)) as raw:
        found = raw.execute(
            "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
            " ORDER BY tbl_name, type DESC, name"
        ).fetchall()
    assert "\n\n".join(f"{sql};" for (sql,) in found) + "\n" == _SNAPSHOT.read_text("utf-8")


def test_every_query_is_named_and_explained() -> None:
    text = (Path(queries.__file__).parent / "queries.sql").read_text("utf-8")

    assert len(queries.load()) == text.count("-- name: ") == text.count(";\n")


@pytest.mark.parametrize(
    "name",
    ["advance_session", "get_session", "list_sessions", "list_running_sessions", "read_events"],
)
async def test_no_query_goes_through_a_whole_table_or_sorts(path: Path, name: str) -> None:
    await (await open_sqlite(path)).close()

    with closing(sqlite3.connect(path)) as raw:
        query = queries.load()[name]
        wanted = {"tenant_id": "t", "before": "", "status": None, "session_id": "", "after": 0}
        values = (None,) * query.count("?") or {**wanted, "limit": 1}
        steps = [row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {query}", values)]
    assert steps
    assert all(step.startswith("SEARCH") for step in steps), steps
