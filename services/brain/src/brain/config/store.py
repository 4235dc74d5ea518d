"""Where the event log may be: what `store` can say. Above: `host`, `check`, the wiring.

Nobody is contacted and nothing is opened here. A store may hold a password: no message repeats it.
"""

import re
from pathlib import Path
from urllib.parse import urlsplit

SQLITE = "sqlite:///"
_POSTGRES = ("postgresql://", "postgres://")
_EXAMPLE = "postgresql://USER:PASSWORD@HOST:5432/DATABASE"
_HOST = re.compile(r"(?:\[[0-9a-fA-F:.]+\]|[^\[\]:]*)(?::([0-9]{1,5}))?")


def is_postgres(store: str) -> bool:
    """Whether it names a Postgres."""
    return store.startswith(_POSTGRES)


def sqlite_path(store: str) -> Path:
    """The file of `sqlite:///PATH`."""
    return Path(store.removeprefix(SQLITE))


def store_problem(store: str) -> str | None:
    """What is wrong with it, as the end of a sentence; None if nothing is."""
    if is_postgres(store):
        return _postgres_problem(store)
    if store.startswith(SQLITE) and len(store) > len(SQLITE) and "\0" not in store:
        return None
    return f"must be sqlite:///PATH, for example sqlite:///.brain/brain.db, or {_EXAMPLE}"


def _postgres_problem(store: str) -> str | None:
    if not store.isprintable() or " " in store:
        return f"must be {_EXAMPLE}, with %20 for a space"
    try:
        parts = urlsplit(store)
    except ValueError:
        return f"must be {_EXAMPLE}"
    if parts.fragment:
        return "must not have a '#'; in a password it is written %23"
    if not parts.path.strip("/"):
        return f"must name a database, as in {_EXAMPLE}"
    for host in parts.netloc.rpartition("@")[2].split(","):
        match = _HOST.fullmatch(host)
        if match is None or not 0 < int(match[1] or 5432) <= 65_535:
            return f"must name a host and a port as in {_EXAMPLE}"
    return None
