"""The providers of a host config, each with its dialect and its address. Above: `providers`.

Below: `http_model`. Only this module and what is below it needs an HTTP client.
"""

from collections.abc import Iterable, Mapping

from brain.config.host import ModelConfig
from brain.engine.model.anthropic_messages import AnthropicMessages
from brain.engine.model.chat_quirks import quirks_of
from brain.engine.model.dialect import Dialect
from brain.engine.model.failures import Secrets
from brain.engine.model.http_model import HttpModel, Provider
from brain.engine.model.http_stream import Endpoint, HttpStreams
from brain.engine.model.openai_chat import OpenaiChat
from brain.engine.model.openai_responses import OpenaiResponses
from brain.engine.model.pricing import ModelTable
from brain.engine.model.proxying import ProxyFor
from brain_core.clock import Clock


class HttpProviders:
    """All providers that are reached over HTTP, with one client."""

    def __init__(self, idle_seconds: float, clock: Clock, proxy_for: ProxyFor) -> None:
        self._http = HttpStreams(idle_seconds, clock, proxy_for)

    def models(
        self, models: Iterable[ModelConfig], keys: Mapping[str, str], table: ModelTable
    ) -> dict[str, HttpModel]:
        """A model for each provider, by its name."""
        return {
            model.provider: HttpModel(_provider(model, keys.get(model.provider)), self._http, table)
            for model in models
        }

    async def aclose(self) -> None:
        """Close the client."""
        await self._http.aclose()


def _provider(model: ModelConfig, key: str | None) -> Provider:
    dialect = _dialect(model)
    headers = {
        "accept": "text/event-stream",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "user-agent": "brain",
        **dialect.headers(key),
        **{name.lower(): value for name, value in model.headers.items()},
    }
    secrets = Secrets(key, *model.headers.values())
    return Provider(
        model.provider, dialect, Endpoint(dialect.url(model.base_url), headers, secrets)
    )


def _dialect(model: ModelConfig) -> Dialect:
    if model.api == "anthropic-messages":
        return AnthropicMessages()
    if model.api == "openai-responses":
        return OpenaiResponses()
    return OpenaiChat(quirks_of(model.provider, model.base_url))
