"""Calls models for tests, through the door that the harness uses. Above: tests of model calls.

Below: `brain.engine.model`. Each call goes over real sockets to whatever the base URL names.
"""

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import msgspec

from brain.config.check import CheckedConfig
from brain.config.host import HostConfig, ModelConfig
from brain.engine.model.protocol import (
    Answer,
    Delta,
    Failure,
    Model,
    ModelRequest,
)
from brain.engine.model.providers import build_models
from brain.engine.model.proxying import ProxyFor, no_proxy
from brain.engine.model.registry import ModelRegistry
from brain_core.clock import Clock, SystemClock
from brain_testing.model_turns import asked
from brain_testing.tool_server import ToolServer

KEY = "k3y-of-the-provider-0123456789"
PATIENCE = 20.0
CHAT = "openai-chat"
RESPONSES = "openai-responses"
ANTHROPIC = "anthropic-messages"


@dataclass
class Heard:
    """What came of a call so far."""

    deltas: list[Delta] = field(default_factory=list[Delta])
    ended: Answer | Failure | None = None

    @property
    def answer(self) -> Answer:
        """The answer that it came to."""
        assert isinstance(self.ended, Answer), self.ended
        return self.ended

    @property
    def failure(self) -> Failure:
        """The failure that it came to."""
        assert isinstance(self.ended, Failure), self.ended
        return self.ended

    def text(self, kind: str = "text", index: int = 0) -> str:
        """All deltas of a kind, one after the other."""
        return "".join(d.text for d in self.deltas if (d.kind, d.index) == (kind, index))


async def hear(model: Model, request: ModelRequest, heard: Heard | None = None) -> Heard:
    """Take a call to its end; one that doesn't end fails its test."""
    heard = heard or Heard()
    async with asyncio.timeout(PATIENCE), aclosing(model.stream(request)) as stream:
        async for item in stream:
            assert heard.ended is None, "something came after the end"
            if isinstance(item, Delta):
                heard.deltas.append(item)
            else:
                heard.ended = item
    assert heard.ended is not None, "the stream has no end"
    return heard


class ModelDriver:
    """Models of any providers, closed together at the end."""

    def __init__(self) -> None:
        self._registries: list[ModelRegistry] = []

    async def __aenter__(self) -> "ModelDriver":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for registry in self._registries:
            await registry.aclose()

    def model(
        self,
        server: ToolServer | str,
        api: str = CHAT,
        *,
        provider: str = "test",
        key: str | None = KEY,
        clock: Clock | None = None,
        proxy_for: ProxyFor = no_proxy,
        **fields: Any,
    ) -> Model:
        """The models of one provider; further fields are those of its entry in the host config."""
        base_url = server if isinstance(server, str) else server.url("/v1")
        entry = {"provider": provider, "api": api, "base_url": base_url, **fields}
        registry = build_models(
            _config(entry, {} if key is None else {provider: key}),
            clock=clock or SystemClock(),
            proxy_for=proxy_for,
        )
        self._registries.append(registry)
        found = registry.find(f"{provider}/m")
        assert found is not None
        return found

    async def ask(
        self, server: ToolServer, api: str = CHAT, request: ModelRequest | None = None, **how: Any
    ) -> Heard:
        """One call, to its end."""
        return await hear(self.model(server, api, **how), request or asked())

    async def body(self, server: ToolServer, api: str, request: ModelRequest, **how: Any) -> Any:
        """The body of the request that a call sends."""
        await self.ask(server, api, request, **how)
        return msgspec.json.decode(server.requests[-1].body)


def _config(entry: Mapping[str, Any], keys: Mapping[str, str]) -> CheckedConfig:
    return CheckedConfig(
        host=HostConfig(),
        models=(ModelConfig.model_validate(entry),),
        api_keys={},
        tool_tokens={},
        model_keys=keys,
        engine_key=None,
    )
