"""Children's log lines, made readable. Above: `supervisor`."""

import json
import sys
from typing import Any

_COLOURS = ("36", "35", "33", "32", "34")


class Output:
    """Prints lines behind their process's name, in its colour on a terminal."""

    def __init__(self, names: list[str]) -> None:
        width = max(map(len, names))
        self._prefixes = {
            name: _coloured(f"{name:<{width}} |", _COLOURS[index % len(_COLOURS)])
            for index, name in enumerate(names)
        }

    def line(self, name: str, line: str) -> None:
        print(f"{self._prefixes[name]} {readable(line)}", flush=True)


def readable(line: str) -> str:
    """A JSON log line as time, level, event and the rest; any other line as it is."""
    try:
        entry: dict[str, Any] = json.loads(line)
        event, time = str(entry.pop("event")), str(entry.pop("timestamp", ""))
        level = str(entry.pop("level", ""))
    except (ValueError, AttributeError, KeyError, TypeError):
        return line
    exception = entry.pop("exception", None)
    rest = " ".join(f"{key}={value}" for key, value in entry.items())
    said = " ".join(filter(None, (time[11:19], level, event, rest)))
    return f"{said}\n{exception}" if exception else said


def _coloured(text: str, colour: str) -> str:
    return f"\033[{colour}m{text}\033[0m" if sys.stdout.isatty() else text
