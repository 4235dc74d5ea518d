"""Commits three rows, each with another `synchronous`; says which would outlive a power cut."""

# ruff: noqa: T201 - what it prints is what it is for

import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from brain_testing.synced_disk import keep_what_is_synced


def main(path: Path) -> None:
    """A synced row, one that is only written, and one that takes it along."""
    kept, after = path.parent / "kept", path.parent / "after"
    kept.mkdir()
    keep_what_is_synced(path, kept)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE rows (value TEXT)")
        connection.execute("PRAGMA wal_checkpoint").fetchall()
        for synchronous in ("FULL", "NORMAL", "FULL"):
            connection.execute(f"PRAGMA synchronous = {synchronous}")
            connection.execute("INSERT INTO rows VALUES (?)", (synchronous,))
            shutil.copytree(kept, after)
            with closing(sqlite3.connect(after / path.name)) as left:
                print([row[0] for row in left.execute("SELECT value FROM rows")])
            shutil.rmtree(after)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
