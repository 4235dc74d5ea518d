"""The event log on SQLite: the cases of every log, and what is SQLite's own."""

import asyncio
import sqlite3
import stat
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from brain.engine.log.protocol import EventLog, LogUnavailable
from brain.engine.log.sqlite import LogCannotOpen, open_sqlite
from brain.engine.log.sqlite_schema import APPLICATION_ID, migrations
from brain_testing.log_cases import EventLogCases, append, created, event, record, seqs


@pytest.fixture
async def log(tmp_path: Path) -> AsyncGenerator[EventLog]:
    opened = await open_sqlite(tmp_path / "brain.db")
    yield opened
    await opened.close()


class TestSqlite(EventLogCases):
    pass


async def test_everything_is_there_after_closing_and_opening(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "brain.db"
    first = await open_sqlite(path)
    session_id = await created(first)
    last = first.append(append(session_id, event(2)))
    await first.close()
    await last

    again = await open_sqlite(path)
    assert await seqs(again, session_id) == [1, 2]
    await again.close()
    with pytest.raises(LogUnavailable):
        await again.append(append(session_id, event(3)))


async def test_nobody_else_can_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "data" / "brain.db"
    log = await open_sqlite(path)
    await created(log)

    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()} == {0o600}
    await log.close()


_WRITES_UNTIL_KILLED = """
import asyncio, sys
from pathlib import Path
from brain.engine.log.sqlite import open_sqlite
from brain_testing.log_cases import append, event, record

async def main():
    log = await open_sqlite(Path(sys.argv[1]))
    async def write(number):
        new = record(session_id=f"ses_{number}")
        await log.create(new, event(1))
        seq = 1
        while True:
            seq += 1
            await log.append(append(new.id, event(seq, b"x" * 500)))
            print(number, seq, flush=True)
    await asyncio.gather(*(write(number) for number in range(8)))

asyncio.run(main())
"""


@pytest.mark.requirement("EVT-01")
async def test_what_was_acknowledged_outlives_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _WRITES_UNTIL_KILLED, str(path), stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    acknowledged: dict[int, int] = {}
    for _ in range(300):
        number, seq = (await process.stdout.readline()).split()
        acknowledged[int(number)] = int(seq)
    process.kill()
    for line in (await process.stdout.read()).splitlines():
        if len(words := line.split()) == 2:
            acknowledged[int(words[0])] = int(words[1])
    await process.wait()

    log = await open_sqlite(path)
    for number, seq in acknowledged.items():
        found = await seqs(log, f"ses_{number}")
        assert found == list(range(1, len(found) + 1))
        assert len(found) >= seq
        kept = await log.get(f"ses_{number}")
        assert kept is not None
        assert kept.last_seq == len(found)
    await log.close()


_FILLS_THE_DISK = """
import asyncio, resource, signal, sys
from pathlib import Path
from brain.engine.log.protocol import LogUnavailable
from brain.engine.log.sqlite import open_sqlite
from brain_testing.log_cases import append, created, event, seqs

async def main():
    log = await open_sqlite(Path(sys.argv[1]))
    session_id = await created(log)
    await log.append(append(session_id, event(2)))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
    writes = [log.append(append(session_id, event(seq, b"x" * 100_000))) for seq in range(3, 9)]
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    kept = [outcome is None for outcome in outcomes].count(True)
    assert kept < 6, outcomes
    failed = [each for each in outcomes if isinstance(each, LogUnavailable)]
    assert all("disk" in str(each) for each in failed), failed
    assert await seqs(log, session_id) == list(range(1, 3 + kept)), "reads go on, whole"
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await log.append(append(session_id, event(3 + kept)))
    assert await seqs(log, session_id) == list(range(1, 4 + kept)), "writes go on"
    await log.close()
    print("held")

asyncio.run(main())
"""


async def test_a_full_disk_refuses_writes_and_loses_nothing(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _FILLS_THE_DISK,
        str(tmp_path / "brain.db"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    said, _ = await asyncio.wait_for(process.communicate(), 40)

    assert said.decode().strip() == "held"


async def test_a_second_engine_on_the_same_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    log = await open_sqlite(path)
    with pytest.raises(LogCannotOpen, match="Another Brain is using"):
        await open_sqlite(path)
    await log.close()
    await (await open_sqlite(path)).close()


@pytest.mark.parametrize(
    "content", [b"not a database at all" * 100, b"SQLite format 3\0" + b"x" * 900]
)
async def test_a_file_that_is_no_database_is_said(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "brain.db"
    path.write_bytes(content)
    with pytest.raises(LogCannotOpen, match=r"brain\.db"):
        await open_sqlite(path)

    assert path.read_bytes() == content, "and it is left as it was"


async def test_a_database_of_another_program_is_said(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    foreign = sqlite3.connect(path)
    foreign.execute("CREATE TABLE notes (text TEXT)")
    foreign.close()

    with pytest.raises(LogCannotOpen, match="another program"):
        await open_sqlite(path)


async def test_a_database_of_a_newer_brain_is_said(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    await (await open_sqlite(path)).close()
    newer = sqlite3.connect(path)
    newer.execute("INSERT INTO migrations VALUES (9999, 'of the future')")
    newer.commit()
    newer.close()

    with pytest.raises(LogCannotOpen, match="newer Brain"):
        await open_sqlite(path)


async def test_a_folder_that_can_not_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LogCannotOpen, match="can't be kept"):
        await open_sqlite(tmp_path / "file" / "brain.db")


async def test_the_file_says_whose_it_is_and_which_migrations_it_has(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    await (await open_sqlite(path)).close()
    raw = sqlite3.connect(path)

    assert raw.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    done = raw.execute("SELECT number, checksum FROM migrations ORDER BY number").fetchall()
    assert done == [(number, checksum) for number, checksum, _ in migrations()]
    raw.close()


async def test_reads_do_not_wait_for_a_long_write(log: EventLog) -> None:
    session_id = await created(log)
    big = [event(seq, b"x" * 1_000_000) for seq in range(2, 40)]
    write = asyncio.ensure_future(log.append(append(session_id, *big)))
    read = await log.read(session_id, 0, 1000)

    assert [each.seq for each in read.events] in ([1], list(range(1, 40)))
    await write
    assert len(await seqs(log, session_id)) <= 39


async def test_thousands_of_sessions_write_at_once(log: EventLog) -> None:
    new = [record() for _ in range(2000)]
    await asyncio.gather(*(log.create(each, event(1)) for each in new))
    await asyncio.gather(*(log.append(append(each.id, event(2))) for each in new))

    assert len(await log.open_sessions()) == 2000
