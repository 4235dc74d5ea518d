"""Which models this server can call. Above: `session`, `providers`. Below: the adapters."""

from collections.abc import Awaitable, Callable, Mapping

from brain.engine.model.pricing import ModelTable, shipped
from brain.engine.model.protocol import Model, split_model_id
from brain_core.usage import Usage


async def _nothing_to_close() -> None:
    pass


class ModelRegistry:
    """Models by provider. A provider with named models knows only those; another takes any."""

    def __init__(
        self,
        providers: Mapping[str, Model],
        named: Mapping[str, tuple[str, ...]],
        table: ModelTable | None = None,
        close: Callable[[], Awaitable[None]] = _nothing_to_close,
    ) -> None:
        self._providers = providers
        self._named = named
        self._table = shipped() if table is None else table
        self._close = close

    def find(self, model_id: str) -> Model | None:
        provider, model = split_model_id(model_id)
        named = self._named.get(provider)
        if not model or (named is not None and model not in named):
            return None
        return self._providers.get(provider)

    def names(self) -> tuple[str, ...]:
        return tuple(
            f"{provider}/{model}"
            for provider in self._providers
            for model in self._named.get(provider, ("*",))
        )

    def window(self, model_id: str) -> int | None:
        """How many tokens a request to this model may have, or None if that isn't known."""
        return self._table.window(model_id)

    def cost(self, model_id: str, usage: Usage) -> float | None:
        """What this usage of one call costs in US dollars, or None if that isn't known."""
        return self._table.cost(model_id, usage)

    async def aclose(self) -> None:
        """Close what the providers hold open. No model may be called afterwards."""
        await self._close()
