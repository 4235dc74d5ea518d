"""Children's log lines, made readable. Above: `supervisor`. Below: `plain`."""

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from brain.cli.plain import plain

_COLOURS = ("36", "35", "33", "32", "34")


class Output:
    """Prints lines behind their process's name, in its colour on a terminal."""

    def __init__(self, names: Sequence[str]) -> None:
        width = max(map(len, names), default=0)
        self._prefixes = {
            name: _coloured(f"{name:<{width}} |", _COLOURS[index % len(_COLOURS)])
            for index, name in enumerate(names)
        }

    def line(self, name: str, line: str) -> None:
        """Print a process's line."""
        for part in readable(line).split("\n"):
            self.say(f"{self._prefixes[name]} {part}")

    def say(self, text: str) -> None:
        """Print a text of our own."""
        try:
            print(text, flush=True)
        except OSError:
            # Nobody reads any more. That must not stop a server, nor block it by a full pipe.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def readable(line: str) -> str:
    """A JSON log line as time, level, event and the rest; any other line as it is.

    More than one line only for an exception, behind its event.
    """
    try:
        entry: dict[str, Any] = json.loads(line)
        event, time = str(entry.pop("event")), str(entry.pop("timestamp", ""))
        level = str(entry.pop("level", ""))
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        return plain(line)
    exception = plain(str(entry.pop("exception", ""))).rstrip("\n")
    rest = " ".join(f"{key}={_value(value)}" for key, value in entry.items())
    said = plain(" ".join(filter(None, (time[11:19], level, _one_line(event), rest))))
    return f"{said}\n{exception}" if exception else said


def _value(value: object) -> str:
    """A value that can't be mistaken for another `key=value`, nor for another line."""
    if isinstance(value, str) and value and not any(c.isspace() or c in '="' for c in value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())


def _coloured(text: str, colour: str) -> str:
    return f"\033[{colour}m{text}\033[0m" if sys.stdout.isatty() else text
