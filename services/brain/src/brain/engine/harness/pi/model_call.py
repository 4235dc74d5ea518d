"""One model call: its stream, an interrupt, what it has used. Above: `step`, `summary`."""

from collections.abc import Callable
from contextlib import aclosing

import msgspec
import structlog
from msgspec import Struct

from brain.engine.harness.protocol import INTERNAL_ERROR, KnownModels, SessionPort
from brain.engine.model.protocol import Answer, Delta, Failure, ModelRequest, split_model_id
from brain_core.usage import Usage

_log = structlog.get_logger(__name__)
_NO_USAGE = Usage()


class Called(Struct, frozen=True):
    """What a call came to: None if it was interrupted. `usage` is as far as it is known."""

    ended: Answer | Failure | None
    usage: Usage


async def call_model(
    port: SessionPort,
    known: KnownModels,
    request: ModelRequest,
    on_delta: Callable[[Delta], None],
) -> Called:
    """Call the model once. An interrupt ends the call, at its next await."""
    if port.interrupt.reason is not None:
        return Called(None, _NO_USAGE)
    heard = _Heard(on_delta)
    with port.interrupt.scope() as scope:
        await _listen(port, request, heard)
    ended = heard.ended
    if ended is None and not scope.cancelled:
        ended = Failure("connection_lost", "The model's answer has no end.", True, heard.usage)
    return Called(ended, _priced(known, port.config.model, heard.usage))


class _Heard:
    """What has come of a stream so far."""

    def __init__(self, on_delta: Callable[[Delta], None]) -> None:
        self.ended: Answer | Failure | None = None
        self.usage = _NO_USAGE
        self._on_delta = on_delta

    def take(self, item: Delta | Answer | Failure) -> None:
        if item.usage is not None and item.usage != _NO_USAGE:
            self.usage = item.usage
        if isinstance(item, Delta):
            self._on_delta(item)
        else:
            self.ended = item


async def _listen(port: SessionPort, request: ModelRequest, heard: _Heard) -> None:
    """Hear the stream out. A model doesn't raise: one that does has failed, by a bug of ours."""
    try:
        async with aclosing(port.model.stream(request)) as stream:
            async for item in stream:
                heard.take(item)
    except Exception:  # noqa: BLE001 - what was said and used until then is kept all the same
        _log.exception("model_call_crashed", session_id=port.session_id, model=port.config.model)
        heard.ended = Failure(INTERNAL_ERROR.code, INTERNAL_ERROR.message, False, heard.usage)


def model_name(model_id: str) -> str:
    """What the provider calls the model."""
    return split_model_id(model_id)[1]


def _priced(known: KnownModels, model_id: str, usage: Usage) -> Usage:
    """With its cost from the price table, unless the provider said it or nothing is known."""
    if usage.cost_usd is not None or usage == _NO_USAGE:
        return usage
    return msgspec.structs.replace(usage, cost_usd=known.cost(model_id, usage))
