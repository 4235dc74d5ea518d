"""The statements of `queries.sql` by name. Above: the SQLite log."""

import re
from importlib.resources import files

_NAMED = re.compile(r"-- name: (\w+)\n(?:--[^\n]*\n)+(.*?);", re.DOTALL)


def load(file: str = "queries.sql") -> dict[str, str]:
    """Each statement by the name that stands above it."""
    text = files("brain.engine.log").joinpath(file).read_text(encoding="utf-8")
    return {match.group(1): match.group(2).strip() for match in _NAMED.finditer(text)}
