"""One model call: its stream, an interrupt, what it has used. Above: `step`, `summary`."""

from collections.abc import Callable
from contextlib import aclosing

import msgspec
from msgspec import Struct

from brain.engine.harness.protocol import KnownModels, SessionPort
from brain.engine.model.protocol import Answer, Delta, Failure, ModelRequest, split_model_id
from brain_core.usage import Usage

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
    ended: Answer | Failure | None = None
    usage = _NO_USAGE
    if port.interrupt.reason is not None:
        return Called(None, usage)
    with port.interrupt.scope() as scope:
        async with aclosing(port.model.stream(request)) as stream:
            async for item in stream:
                if item.usage is not None and item.usage != _NO_USAGE:
                    usage = item.usage
                if isinstance(item, Delta):
                    on_delta(item)
                else:
                    ended = item
    if ended is None and not scope.cancelled:
        ended = Failure("connection_lost", "The model's answer has no end.", True, usage)
    return Called(ended, _priced(known, port.config.model, usage))


def model_name(model_id: str) -> str:
    """What the provider calls the model."""
    return split_model_id(model_id)[1]


def _priced(known: KnownModels, model_id: str, usage: Usage) -> Usage:
    """With its cost from the price table, unless the provider said it or nothing is known."""
    if usage.cost_usd is not None or usage == _NO_USAGE:
        return usage
    return msgspec.structs.replace(usage, cost_usd=known.cost(model_id, usage))
