"""Which models this server can call. Above: `session`, `wiring`. Below: the adapters."""

from collections.abc import Mapping

from brain.engine.model.protocol import Model, split_model_id


class ModelRegistry:
    """Models by provider. A provider with named models knows only those; another takes any."""

    def __init__(
        self, providers: Mapping[str, Model], named: Mapping[str, tuple[str, ...]]
    ) -> None:
        self._providers = providers
        self._named = named

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
