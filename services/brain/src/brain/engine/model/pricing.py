"""What is known of models: how much they read and write, and what they cost.

Above: `http_model`, `registry`, whoever asks for a window. Below: `models.toml`, which ships with
Brain, and what the host config adds. A model that is in neither works all the same.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Literal

import msgspec
from msgspec import Struct

from brain_core.usage import Usage

_MILLION = 1_000_000
_SNAPSHOT = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$")


class Prices(Struct, frozen=True, forbid_unknown_fields=True):
    """US dollars for a million tokens. What has no price for the cache costs as input."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None


class LongPrices(Prices, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Prices of a request that reads more tokens than `above`."""

    above: int


class ModelFacts(Struct, frozen=True, forbid_unknown_fields=True):
    """One model. `context_window` is how many tokens a request may have; None is unknown."""

    context_window: int | None = None
    max_output_tokens: int | None = None
    prices: Prices | None = None
    long_prices: LongPrices | None = None
    reasons: bool | None = None
    sees_images: bool = True
    thinking: Literal["adaptive", "budget"] | None = None
    """How Anthropic's format asks this model to think."""


UNKNOWN = ModelFacts()


class ModelTable:
    """Facts by model id, `provider/model`."""

    def __init__(self, facts: Mapping[str, ModelFacts]) -> None:
        self._facts = facts

    def with_more(self, facts: Mapping[str, ModelFacts]) -> "ModelTable":
        """A table with further models, which win over those that are there."""
        return ModelTable({**self._facts, **facts})

    def names(self) -> tuple[str, ...]:
        """All ids in the table."""
        return tuple(self._facts)

    def find(self, model_id: str) -> ModelFacts:
        """The model, or the one that it is a dated snapshot of; `UNKNOWN` if it isn't known."""
        found = self._facts.get(model_id)
        if found is None:
            found = self._facts.get(_SNAPSHOT.sub("", model_id))
        return UNKNOWN if found is None else found

    def window(self, model_id: str) -> int | None:
        """How many tokens a request may have, or None if that isn't known."""
        return self.find(model_id).context_window

    def cost(self, model_id: str, usage: Usage) -> float | None:
        """What this usage of one call costs in US dollars, as far as the tokens are known.

        None if the model has no prices here or no tokens are known.
        """
        facts = self.find(model_id)
        if facts.prices is None or (usage.input_tokens is None and usage.output_tokens is None):
            return None
        return _cost(_prices(facts.prices, facts.long_prices, usage), usage)


@cache
def shipped() -> ModelTable:
    """The table that ships with Brain."""
    text = resources.files("brain.engine.model").joinpath("models.toml").read_text("utf-8")
    by_provider = msgspec.convert(tomllib.loads(text), dict[str, dict[str, ModelFacts]])
    return ModelTable(
        {
            f"{provider}/{model}": facts
            for provider, models in by_provider.items()
            for model, facts in models.items()
        }
    )


def cost(model_id: str, usage: Usage) -> float | None:
    """`ModelTable.cost` of the table that ships with Brain."""
    return shipped().cost(model_id, usage)


def window(model_id: str) -> int | None:
    """`ModelTable.window` of the table that ships with Brain."""
    return shipped().window(model_id)


def _prices(usual: Prices, long: LongPrices | None, usage: Usage) -> Prices:
    read = sum(
        tokens or 0
        for tokens in (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    )
    return long if long is not None and read > long.above else usual


def _cost(prices: Prices, usage: Usage) -> float:
    read = prices.input if prices.cache_read is None else prices.cache_read
    written = prices.input if prices.cache_write is None else prices.cache_write
    return (
        (usage.input_tokens or 0) * prices.input
        + (usage.cache_read_tokens or 0) * read
        + (usage.cache_write_tokens or 0) * written
        + (usage.output_tokens or 0) * prices.output
    ) / _MILLION
