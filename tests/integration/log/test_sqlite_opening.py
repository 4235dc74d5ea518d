"""What may be wrong with a file when it is opened, and what is said of it."""

import os
import sqlite3
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from brain.engine.log.sqlite import LogCannotOpen, open_sqlite
from brain_testing.log_values import created, seqs

Start = Callable[[str], Awaitable[Process]]


async def test_a_second_engine_on_the_same_file_is_refused(path: Path, tmp_path: Path) -> None:
    log = await open_sqlite(path)
    (tmp_path / "link.db").symlink_to(path)
    for same in (path, tmp_path / "." / "brain.db", tmp_path / "link.db"):
        with pytest.raises(LogCannotOpen, match="Another Brain is using"):
            await open_sqlite(same)
    await log.close()

    await (await open_sqlite(path)).close()


async def test_a_process_that_is_killed_lets_go_of_the_file(path: Path, start: Start) -> None:
    process = await start("holds_the_log")
    assert process.stdout is not None
    assert await process.stdout.readline() == b"open\n"
    with pytest.raises(LogCannotOpen, match="Another Brain is using"):
        await open_sqlite(path)
    process.kill()
    await process.wait()

    await (await open_sqlite(path)).close()


@pytest.mark.parametrize(
    "content", [b"not a database at all" * 100, b"SQLite format 3\0" + b"x" * 900]
)
async def test_a_file_that_is_no_database_is_said(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(LogCannotOpen, match=r"brain\.db isn't a database\. Choose"):
        await open_sqlite(path)

    assert path.read_bytes() == content, "and it is left as it was"


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE notes (text TEXT)", "PRAGMA application_id = 1"]
)
async def test_a_database_of_another_program_is_said(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as foreign:
        foreign.execute(statement)
    content = path.read_bytes()
    with pytest.raises(LogCannotOpen, match="another program"):
        await open_sqlite(path)

    assert path.read_bytes() == content, "and it is left as it was"


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("INSERT INTO migrations VALUES (9999, 'of the future')", "newer Brain"),
        ("UPDATE migrations SET checksum = 'of somewhere else'", "another line"),
    ],
)
async def test_a_database_of_another_brain_is_said(path: Path, statement: str, said: str) -> None:
    await (await open_sqlite(path)).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(statement)

    with pytest.raises(LogCannotOpen, match=said):
        await open_sqlite(path)


async def test_a_damaged_database_is_said(path: Path) -> None:
    await (await open_sqlite(path)).close()
    with path.open("r+b") as file:
        file.seek(100)  # where the schema's tree begins, after the file's header
        file.write(b"\xff" * 200)

    with pytest.raises(LogCannotOpen, match=r"is damaged: .* Put back a copy of it"):
        await open_sqlite(path)


async def test_an_empty_file_becomes_a_log(path: Path) -> None:
    path.touch()
    log = await open_sqlite(path)

    assert await seqs(log, await created(log)) == [1]
    await log.close()


async def test_a_folder_that_can_not_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LogCannotOpen, match="can't be kept in"):
        await open_sqlite(tmp_path / "file" / "brain.db")


async def test_a_folder_that_can_not_be_written_to_is_said(path: Path, start: Start) -> None:
    path.parent.chmod(0o500)
    said, _ = await (await start("opens_without_privileges")).communicate()
    path.parent.chmod(0o700)

    assert b"can't be kept in" in said
    assert b"Permission denied. Let Brain write there" in said


async def test_a_file_that_can_not_be_written_to_is_said(path: Path, start: Start) -> None:
    await (await open_sqlite(path)).close()
    path.chmod(0o400)
    said, _ = await (await start("opens_without_privileges")).communicate()

    assert b"Permission denied. Let Brain write there" in said


async def test_a_folder_in_the_place_of_the_file_is_said(path: Path) -> None:
    path.mkdir()
    with pytest.raises(LogCannotOpen, match="Is a directory"):
        await open_sqlite(path)


async def test_what_was_refused_leaves_nothing_open(path: Path) -> None:
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(LogCannotOpen):
        await open_sqlite(path)

    opened = [os.path.realpath(each) for each in Path("/proc/self/fd").iterdir()]
    assert not [each for each in opened if each.startswith(str(path))]
