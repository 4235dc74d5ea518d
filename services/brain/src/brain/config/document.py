"""Reading the host config file: from bytes to JSON, or one line that says where it isn't.

Above: `check`. Below: `json`. Python's own parser is used in its pure form, since only that tells
where an object with a duplicate key begins.
"""

import json
import re
from json import decoder, scanner
from pathlib import Path
from typing import Any

from brain.config.problem import Problem

_MAX_BYTES = 16 * 1024 * 1024
_MAX_DIGITS = 300
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_CONSTANT = re.compile(r"-?\b(?:NaN|Infinity)\b")


class _Unreadable(Exception):
    """The file can't be read as JSON; the text says why and where."""


def read(path: Path) -> Any | Problem:
    """The JSON document in a file, or why there is none."""
    try:
        return _parse(_text(path))
    except _Unreadable as error:
        return Problem("", str(error))


def _text(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise _Unreadable(f"{path} can't be read: {error.strerror}.") from error
    if len(raw) > _MAX_BYTES:
        raise _Unreadable(f"{path} is larger than {_MAX_BYTES} bytes.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _Unreadable(f"{path} isn't UTF-8: see line {line}, byte {error.start}.") from error


def _parse(text: str) -> Any:
    constant = _CONSTANT.search(_STRING.sub(lambda match: " " * len(match[0]), text))
    if constant is not None:
        raise _Unreadable(f"{constant[0]} at {_place(text, constant.start())} isn't JSON.")
    try:
        return _StrictDecoder(text).decode(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise _Unreadable(f"the file isn't valid JSON at {where}: {error.msg}.") from error
    except RecursionError as error:
        raise _Unreadable("the file is nested too deeply.") from error


class _StrictDecoder(json.JSONDecoder):
    """Refuses duplicate keys."""

    def __init__(self, text: str) -> None:
        # An integer of thousands of digits is a number that is out of range, as 1e999 is: Python
        # itself refuses to read the longest.
        super().__init__(parse_int=_integer)
        self._text = text
        self.parse_object = self._object
        self.scan_once = scanner.py_make_scanner(self)  # type: ignore[attr-defined]

    def _object(self, s_and_end: tuple[str, int], *rest: Any) -> Any:
        begin = s_and_end[1] - 1

        def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            found = dict(pairs)
            if len(found) < len(pairs):
                self._report(pairs, begin)
            return found

        strict, scan_once, _object_hook, _pairs_hook, memo = rest
        return decoder.JSONObject(s_and_end, strict, scan_once, None, unique, memo)  # type: ignore[attr-defined]

    def _report(self, pairs: list[tuple[str, Any]], begin: int) -> None:
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        where = _place(self._text, begin)
        raise _Unreadable(f'the object that begins at {where} has the key "{_shown(twice)}" twice.')


def _shown(key: str) -> str:
    return key.encode(errors="backslashreplace").decode()


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_DIGITS else float(digits)


def _place(text: str, index: int) -> str:
    line = text.count("\n", 0, index) + 1
    return f"line {line}, column {index - text.rfind(chr(10), 0, index)}"
