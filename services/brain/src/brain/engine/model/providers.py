"""The models that a host config names, ready to be called. Above: `wiring`.

Below: `http_providers`, and the demo, which is always there.
"""

from collections.abc import Mapping

from brain.config.check import CheckedConfig
from brain.config.host import NamedModel
from brain.engine.model.demo import DemoModel
from brain.engine.model.pricing import LongPrices, ModelFacts, Prices, shipped
from brain.engine.model.protocol import Model
from brain.engine.model.proxying import ProxyFor, no_proxy
from brain.engine.model.registry import ModelRegistry
from brain_core.clock import Clock, SystemClock

_NAMED = {"demo": ("script",)}
_SYSTEM_CLOCK = SystemClock()


def build_models(
    config: CheckedConfig,
    *,
    proxy_for: ProxyFor = no_proxy,
    clock: Clock = _SYSTEM_CLOCK,
    more: Mapping[str, Model] | None = None,
) -> ModelRegistry:
    """A registry of the config's providers, `more` providers, and the demo. Close it in the end."""
    table = shipped().with_more(_operators(config))
    own: dict[str, Model] = {"demo": DemoModel(), **(more or {})}
    if not config.models:
        return ModelRegistry(own, _NAMED, table)
    # Only now: the HTTP client takes a tenth of a second to import, and many starts don't need it.
    from brain.engine.model.http_providers import HttpProviders  # noqa: PLC0415

    http = HttpProviders(config.host.idle_timeout_seconds, clock, proxy_for)
    configured = http.models(config.models, config.model_keys, table)
    return ModelRegistry({**configured, **own}, _NAMED, table, http.aclose)


def _operators(config: CheckedConfig) -> dict[str, ModelFacts]:
    """What the host config says of models, over what ships with Brain."""
    return {
        f"{provider.provider}/{name}": _facts(f"{provider.provider}/{name}", model)
        for provider in config.models
        for name, model in provider.models.items()
    }


def _facts(model_id: str, model: NamedModel) -> ModelFacts:
    known = shipped().find(model_id)
    prices, long = known.prices, known.long_prices
    if model.prices is not None:
        prices, long = Prices(**model.prices.model_dump()), None
    if model.long_prices is not None:
        long = LongPrices(**model.long_prices.model_dump())
    return ModelFacts(
        context_window=model.context_window or known.context_window,
        max_output_tokens=model.max_output_tokens or known.max_output_tokens,
        prices=prices,
        long_prices=long,
        reasons=known.reasons if model.reasons is None else model.reasons,
        sees_images=known.sees_images if model.sees_images is None else model.sees_images,
        thinking=model.thinking or known.thinking,
    )
