"""Copies of a database, made while it is in use, and put back. Above: `cli.store`, `cli.doctor`.

Below: `sqlite_schema`, `sqlite3`'s own online backup.
"""

import os
import sqlite3
import tempfile
from collections.abc import Generator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from brain.engine.log.opening import LogCannotOpen
from brain.engine.log.sqlite_file import explain, lock_database
from brain.engine.log.sqlite_schema import check_identity, check_known

_SIDES = ("", "-wal", "-shm")


class Contents(Struct, frozen=True):
    """What a database holds. `size` is in bytes."""

    sessions: int
    events: int
    size: int


def back_up(path: Path, copy: Path) -> Contents:
    """Copy the database as it is at this moment; whoever uses it goes on. Raises: LogCannotOpen."""
    if copy.exists():
        raise LogCannotOpen(f"{copy} is there already. Name a file that isn't.")
    with _beside(copy) as made:
        _copy(_existing(path), made)
        return examine(made)


def restore(copy: Path, path: Path, *, replace: bool) -> tuple[Contents, Path | None]:
    """Put a copy in a database's place, which nobody may be using.

    Gives what it holds, and where the database is now that was there before. Raises:
    LogCannotOpen, and then nothing has changed.
    """
    path = path.resolve()
    with _problems(path):
        descriptor = lock_database(path)
    try:
        if path.exists() and not replace:
            raise LogCannotOpen(
                f"{path} is there already. With --replace it is moved aside, and the copy takes"
                " its place."
            )
        with _beside(path) as made:
            _copy(_existing(copy), made)
            contents = examine(made)
            aside = _move_aside(path) if path.exists() else None
        return contents, aside
    finally:
        os.close(descriptor)


def examine(path: Path) -> Contents:
    """Read all of a database, to see that it is ours and whole. Raises: LogCannotOpen."""
    with _problems(path), closing(_open(_existing(path))) as connection:
        check_identity(connection, path)
        check_known(connection, path)
        found = [row[0] for row in connection.execute("PRAGMA integrity_check(3)")]
        if found != ["ok"]:
            raise LogCannotOpen(
                f"{path} is damaged: {'; '.join(found)}. Put back a copy of it"
                " (`brain restore`), or move it and its -wal and -shm files away, to begin anew."
            )
        sessions = connection.execute("SELECT count(*) FROM sessions").fetchone()[0]
        events = connection.execute("SELECT count(*) FROM events").fetchone()[0]
    return Contents(sessions, events, path.stat().st_size)


def in_use(path: Path) -> bool:
    """Whether an engine has it open. Raises: LogCannotOpen."""
    if not path.with_name(f"{path.name}.lock").exists():
        return False
    with _problems(path):
        try:
            os.close(lock_database(path.resolve()))
        except LogCannotOpen:
            return True
    return False


def _copy(source: Path, target: Path) -> None:
    # All in one step: a copy in several begins anew whenever another process has written.
    with _problems(source), closing(_open(source)) as read, closing(_open(target)) as written:
        check_identity(read, source)
        read.backup(written)
    with target.open("rb") as file:
        os.fsync(file.fileno())


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=5)


def _existing(path: Path) -> Path:
    if not path.exists():
        raise LogCannotOpen(f"There is no {path}.")
    return path


def _move_aside(path: Path) -> Path:
    """Move a database and what belongs to it; gives where it is now."""
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    aside = path.with_name(f"{path.name}.before-{moment}")
    for side in reversed(_SIDES):
        part = path.with_name(path.name + side)
        if part.exists():
            part.rename(aside.with_name(aside.name + side))
    return aside


@contextmanager
def _beside(path: Path) -> Generator[Path]:
    """A private file in the same folder, which takes the path's place at the end, or is gone."""
    with _problems(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
    made = Path(name)
    try:
        yield made
        with _problems(path):
            made.rename(path)
    finally:
        for side in _SIDES:
            made.with_name(made.name + side).unlink(missing_ok=True)


@contextmanager
def _problems(path: Path) -> Generator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise LogCannotOpen(explain(path, error)) from error
    except OSError as error:
        raise LogCannotOpen(f"{error.filename or path} can't be used: {error.strerror}.") from error
