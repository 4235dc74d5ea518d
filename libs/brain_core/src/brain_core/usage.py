"""Tokens and money of model calls. What is unknown is `None`, never 0."""

from typing import TypeVar

from msgspec import Struct

_N = TypeVar("_N", int, float)


class Usage(Struct, frozen=True):
    """Usage of one model call, or the sum of several.

    `input_tokens` excludes what was read from or written to a cache; `reasoning_tokens` are
    part of `output_tokens`.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None

    @property
    def tokens(self) -> int | None:
        """All tokens, read and written; None if nothing is known of either."""
        counts = (
            self.input_tokens,
            self.output_tokens,
            self.cache_read_tokens,
            self.cache_write_tokens,
        )
        known = [count for count in counts if count is not None]
        return sum(known) if known else None

    def __add__(self, other: "Usage") -> "Usage":
        """The sum, field by field; an unknown part leaves the known one."""
        return Usage(
            _sum(self.input_tokens, other.input_tokens),
            _sum(self.output_tokens, other.output_tokens),
            _sum(self.cache_read_tokens, other.cache_read_tokens),
            _sum(self.cache_write_tokens, other.cache_write_tokens),
            _sum(self.reasoning_tokens, other.reasoning_tokens),
            _sum(self.cost_usd, other.cost_usd),
        )


def _sum(left: _N | None, right: _N | None) -> _N | None:
    if left is None or right is None:
        return right if left is None else left
    return left + right
