"""What outlives a process, a full disk, a damaged page; and what doesn't outlive its deletion."""

import asyncio
import sqlite3
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from brain.engine.log.protocol import LogUnavailable
from brain.engine.log.sqlite import SqliteLog, open_sqlite
from brain.engine.log.sqlite_file import open_database
from brain_testing.log_values import append, claimed, created, event, seqs

Start = Callable[[str], Awaitable[Process]]


@pytest.mark.requirement("EVT-01")
async def test_what_was_acknowledged_or_shown_outlives_kill_9(path: Path, start: Start) -> None:
    seen: dict[str, int] = {}
    for _ in range(3):
        process = await start("appends_until_killed")
        assert process.stdout is not None
        said = [await process.stdout.readline() for _ in range(400)]
        process.kill()
        said += (await process.stdout.read()).splitlines(keepends=True)
        await process.wait()
        for _, session_id, seq in (line.split() for line in said if line.endswith(b"\n")):
            key = session_id.decode()
            seen[key] = max(seen.get(key, 0), int(seq))

    log = await open_sqlite(path)
    for session_id, seq in seen.items():
        found = (await log.read(session_id, 0, 100_000)).events
        assert len(found) >= seq
        assert found == [
            event(number, f'{{"n":{number}}}'.encode() * 50) for number in range(1, len(found) + 1)
        ]
        kept = await log.get(session_id)
        assert kept is not None
        assert kept.last_seq == len(found)
    await log.close()


async def test_a_full_disk_refuses_writes_and_loses_nothing(start: Start) -> None:
    said, _ = await (await start("fills_the_disk")).communicate()

    assert said == b"held\n"


async def test_the_disk_that_keeps_only_what_was_synced_does_so(start: Start) -> None:
    """It is what shows in test_acknowledged.py that answers wait for the disk."""
    said, _ = await (await start("commits_on_a_synced_disk")).communicate()

    assert said.decode().splitlines() == [
        "['FULL']",
        "['FULL']",
        "['FULL', 'NORMAL', 'FULL']",
    ]


async def test_a_claim_waits_for_no_disk_and_every_append_does(path: Path) -> None:
    database = open_database(path, readers=1)
    assert database.writer.execute("PRAGMA synchronous").fetchone() == (2,), "FULL"
    said: list[str] = []
    database.writer.set_trace_callback(said.append)
    log = SqliteLog(database)
    one, other = await created(log), await created(log)
    for seq in range(2, 20):
        epoch = await claimed(log, one)
        await log.append(append(one, event(seq), epoch=epoch))
        alone = log.append(append(other, event(2 * seq - 2)))
        together = asyncio.create_task(log.claim(one))
        await asyncio.sleep(0)
        await asyncio.gather(alone, together, log.append(append(other, event(2 * seq - 1))))
    await log.close()

    synced, committed = True, set[tuple[str, bool]]()
    for statement in said:
        if statement.startswith("PRAGMA synchronous"):
            synced = statement.endswith("FULL")
        elif "SET epoch" in statement:
            committed.add(("claim", synced))
        elif "SET last_seq" in statement:
            committed.add(("append", synced))
    assert ("append", False) not in committed
    assert ("claim", False) in committed, "unless another write that was there took it along"


async def test_a_damaged_session_takes_no_other_with_it(path: Path) -> None:
    log = await open_sqlite(path)
    # The sessions in between lie in part on the damaged pages.
    sessions = [await created(log) for _ in range(5)]
    before, _, damaged, _, after = sessions
    for session_id in sessions:
        body = session_id.encode() * 80
        await log.append(append(session_id, *(event(seq, body) for seq in range(2, 20))))
    await log.close()
    _damage(path, damaged.encode() * 80)

    log = await open_sqlite(path)
    with pytest.raises(LogUnavailable, match="malformed"):
        await log.read(damaged, 0, 1000)
    writes = [log.append(append(each, event(20))) for each in (before, damaged, after)]
    await writes[0]
    with pytest.raises(LogUnavailable, match="malformed"):
        await writes[1]
    await writes[2]
    assert await seqs(log, before) == await seqs(log, after) == list(range(1, 21))
    await log.close()


@pytest.mark.requirement("SES-04")
async def test_what_was_deleted_can_not_be_found_on_the_disk(path: Path) -> None:
    log = await open_sqlite(path)
    kept, deleted = await created(log), await created(log)
    for session_id, body in ((kept, b"<kept>" * 900), (deleted, b"<deleted>" * 900)):
        await log.append(append(session_id, *(event(seq, body) for seq in range(2, 600))))
    assert b"<deleted>" in _on_disk(path)
    await log.delete(deleted, 1)

    assert b"<deleted>" not in _on_disk(path)
    assert deleted.encode() not in _on_disk(path)
    assert b"<kept>" in _on_disk(path)
    await log.close()


async def test_a_deletion_that_was_cut_off_goes_on_at_the_next_start(path: Path) -> None:
    log = await open_sqlite(path)
    for _ in range(2):
        await log.append(append(await created(log), *map(event, range(2, 700))))
    await log.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as cut_off:
        cut_off.execute("INSERT INTO erasures SELECT number, last_seq FROM sessions")
        cut_off.execute("DELETE FROM sessions")

    again = await open_sqlite(path)
    new = await created(again)
    await again.close()
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("SELECT count(*) FROM erasures").fetchone() == (0,)
        assert raw.execute("SELECT count(*) FROM events").fetchone() == (1,)
        assert raw.execute("SELECT id FROM sessions").fetchall() == [(new,)]


def _on_disk(path: Path) -> bytes:
    return b"".join(each.read_bytes() for each in path.parent.iterdir())


def _damage(path: Path, body: bytes) -> None:
    """Overwrite the head of every page in which there is an event with this body."""
    content, page_size = bytearray(path.read_bytes()), 4096
    found = content.find(body)
    while found >= 0:
        page = found - found % page_size
        content[page : page + 100] = b"\xff" * 100
        found = content.find(body, found + len(body))
    path.write_bytes(content)
