"""The steps of each store's schema: numbered files. Above: `sqlite_schema`, `postgres_schema`.

A file's checksum is kept once it has run, so it is never changed afterwards: the next change is the
next file.
"""

import hashlib
from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple


class Migration(NamedTuple):
    """One step of the schema."""

    number: int
    checksum: str
    text: str


def migrations_of(folder_name: str) -> Iterator[Migration]:
    """All migrations in a folder of this package, in order."""
    folder = files("brain.engine.log").joinpath(folder_name)
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".sql"):
            text = file.read_text(encoding="utf-8")
            checksum = hashlib.sha256(text.encode()).hexdigest()
            yield Migration(int(file.name[:4]), checksum, text)
