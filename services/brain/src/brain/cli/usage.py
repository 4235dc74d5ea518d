"""`brain usage`, and `/usage` in a chat: tokens and cost. Above: `main`, `conversation`.

Below: `connect`, `plain`.
"""

import argparse
import json
from typing import Any

from brain.cli.connect import with_brain
from brain.cli.plain import plain
from brain_client import AsyncBrain

Json = dict[str, Any]
_UNKNOWN = "-"


def usage(given: argparse.Namespace) -> int:
    """Print what the tenant has used, a day and a model on each line; gives the exit code."""

    async def read(brain: AsyncBrain) -> int:
        used = await brain.usage(given.first_day, given.last_day)
        if given.json:
            for row in used["usage"]:
                print(json.dumps(row))
            return 0
        rows = [("day", "model", *_HEADINGS)]
        rows += [(row["day"], row["model"], *columns(row["usage"])) for row in used["usage"]]
        rows.append(("total", "", *columns(used["total"])))
        print(plain(table(rows)))
        return 0

    return with_brain(given, read)


_HEADINGS = ("input", "output", "cached", "USD")


def columns(used: Json) -> tuple[str, ...]:
    """What a usage comes to, as `_HEADINGS` name it; what isn't known is a dash."""
    tokens = (used["input_tokens"], used["output_tokens"], used["cache_read_tokens"])
    cost = used["cost_usd"]
    shown = [_UNKNOWN if each is None else f"{each:,}" for each in tokens]
    return (*shown, _UNKNOWN if cost is None else f"{cost:.4f}")


def sentence(used: Json) -> str:
    """What a session has used, in one line."""
    named = zip(_HEADINGS, columns(used), strict=True)
    return ", ".join(f"{name} {value}" for name, value in named)


def table(rows: list[tuple[str, ...]]) -> str:
    """Rows in columns: the first two to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    cells = [
        cell.ljust(width) if index < 2 else cell.rjust(width)
        for index, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()
