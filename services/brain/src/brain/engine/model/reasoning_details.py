"""Thoughts as OpenRouter streams them, put together again. Above: `openai_chat_reader`.

It wants them back as the provider behind it gave them: whole, in their order. In the stream each is
cut into pieces of the same type and index.
"""

from collections.abc import Mapping
from typing import Any

_GROWING = ("text", "summary", "data")
Detail = dict[str, Any]


class Details:
    """Gathers the pieces."""

    def __init__(self) -> None:
        self.whole: list[Detail] = []

    def add(self, piece: Mapping[str, Any]) -> None:
        """Take in one more piece."""
        last = self.whole[-1] if self.whole else None
        if last is None or not _same(last, piece):
            self.whole.append(dict(piece))
            return
        for name, value in piece.items():
            grown = last.get(name)
            if name in _GROWING and isinstance(grown, str) and isinstance(value, str):
                last[name] = grown + value
            elif value is not None:
                last[name] = value


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(one.get(name) == other.get(name) for name in ("type", "index"))
