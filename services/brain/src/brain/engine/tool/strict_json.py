"""Strict JSON: one reading, or none. Above: `arguments`, `result`, `sse_reply`.

Two programs that read the same text must see the same value, since one of them checks what the
other acts on. So what JSON leaves open is refused: a key twice in an object, a lone surrogate, a
number that no double holds, nesting that some readers would not survive.
"""

import json
from array import array
from itertools import accumulate
from typing import Any

import msgspec
from msgspec import Raw, Struct

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None
"""A decoded JSON value."""

MAX_DEPTH = 100
"""Of arrays and objects in each other. Common readers stop at 128, and ours wrap documents."""

_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")


class Document(Struct, frozen=True):
    """A JSON value, decoded, and its text without white space: digits and key order as written."""

    value: Any
    compact: Raw


class NotJson(Struct, frozen=True):
    """Why a text is not strict JSON, as the end of a sentence."""

    reason: str


def read(text: bytes) -> Document | NotJson:
    """Read one JSON value."""
    try:
        value = msgspec.json.decode(text)
    except RecursionError:
        return _too_deep()
    except msgspec.MsgspecError as error:
        return NotJson(_reason(error))
    except UnicodeDecodeError:
        return NotJson("it is not valid UTF-8")
    if _deeper_than(MAX_DEPTH, text):
        return _too_deep()
    if _drops_members(text, value):
        return NotJson(f"the key {_repeated_key(text)} occurs twice in one object")
    return Document(value, Raw(msgspec.json.format(text, indent=-1)))


def _too_deep() -> NotJson:
    return NotJson(f"it is nested more than {MAX_DEPTH} levels deep")


def _reason(error: msgspec.MsgspecError) -> str:
    message = str(error)
    if "UTF-8" in message:
        return "it is not valid UTF-8"
    if "out of range" in message:
        return "it has a number that is out of range"
    return message.removeprefix("JSON is malformed: ")


def _deeper_than(limit: int, text: bytes) -> bool:
    """Whether valid JSON is nested more than `limit` levels deep."""
    if text.count(b"[") + text.count(b"{") <= limit:
        return False
    # With no escaped quote left, every second piece between quotes is a string.
    unescaped = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside_strings = b"".join(unescaped.split(b'"')[::2])
    steps = array("b", outside_strings.translate(_STEPS, _NOT_BRACKETS))
    return max(accumulate(steps)) > limit


def _drops_members(text: bytes, value: Any) -> bool:
    """Whether decoding lost members of objects, as it does when a key is repeated.

    Each member has a colon, and encoding escapes none, so a loss shows in their number. Only an
    escaped colon in `text` could hide it: then, and for integers that can't be encoded, look
    closely.
    """
    if b"\\u003" not in text:
        try:
            return text.count(b":") != msgspec.json.encode(value).count(b":")
        except OverflowError:
            pass
    return _repeated_key(text) is not None


def _repeated_key(text: bytes) -> str | None:
    """The first key that is repeated in an object, as JSON."""
    repeated: list[str] = []

    def note(members: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for key, _ in members:
            if key in seen:
                repeated.append(key)
            seen.add(key)

    json.loads(text, object_pairs_hook=note)
    return json.dumps(repeated[0])[:100] if repeated else None
