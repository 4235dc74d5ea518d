"""A model behind a provider's HTTP API. Above: `registry`. Below: a dialect and `http_stream`.

What the three wire formats have in common: the request is written, its events are read, and
whatever happens the stream ends with exactly one `Answer` or `Failure`, with what it cost.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, suppress

import msgspec
from msgspec import Struct

from brain.engine.model.dialect import Dialect, Reader, Target
from brain.engine.model.failures import Code, failure
from brain.engine.model.http_stream import Endpoint, HttpStreams
from brain.engine.model.pricing import ModelTable
from brain.engine.model.protocol import Answer, Delta, Failure, ModelRequest
from brain.engine.model.provider_errors import ProviderError, classify
from brain_core.usage import Usage

_ENDING_SECONDS = 0.02
_NOT_JSON = (msgspec.MsgspecError, UnicodeError, RecursionError)


class Provider(Struct, frozen=True):
    """A provider's name, how it speaks, and where."""

    name: str
    dialect: Dialect
    endpoint: Endpoint


class HttpModel:
    """All models of one provider."""

    def __init__(self, provider: Provider, http: HttpStreams, table: ModelTable) -> None:
        self._provider = provider
        self._http = http
        self._table = table

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Answer | Failure, None]:
        model_id = f"{self._provider.name}/{request.model}"
        target = Target(model_id, self._table.find(model_id))
        try:
            body = self._provider.dialect.body(request, target)
        except _NOT_JSON:
            yield failure(Code.BAD_REQUEST, "It can't be written as JSON.")
            return
        reading = _Reading(self._provider.dialect.reader(), model_id, self._table)
        broken: Failure | None = None
        async with (
            self._http.patience() as patience,
            aclosing(self._http.post(self._provider.endpoint, body, patience)) as stream,
        ):
            async for events in stream:
                if isinstance(events, Failure):
                    broken = events
                    break
                for delta in reading.deltas(events):
                    patience.grew()
                    yield delta
                if reading.over:
                    await _end_of_response(stream)
                    break
        yield self._end(reading, broken)

    def _end(self, reading: "_Reading", broken: Failure | None) -> Answer | Failure:
        """An answer that is whole is one, whatever became of the connection afterwards."""
        ended = failure(Code.BAD_STREAM) if reading.unreadable else reading.reader.end()
        if ended is None:
            ended = broken or failure(Code.CONNECTION_LOST)
        if isinstance(ended, ProviderError):
            ended = failure(
                classify(ended),
                said=ended.text,
                secrets=self._provider.endpoint.secrets,
                retry_after=ended.retry_after,
            )
        return msgspec.structs.replace(ended, usage=reading.priced())


async def _end_of_response(stream: AsyncIterator[object]) -> None:
    """Let the response end, so that its connection can be used again, if it ends at once."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_ENDING_SECONDS):
            async for _ in stream:
                pass


class _Reading:
    """An answer that is being read: its pieces, and what has been used so far."""

    def __init__(self, reader: Reader, model_id: str, table: ModelTable) -> None:
        self.reader = reader
        self.unreadable = False
        self._model_id = model_id
        self._table = table
        self._told = reader.usage

    @property
    def over(self) -> bool:
        """Whether there is nothing more to read."""
        return self.unreadable or self.reader.done

    def deltas(self, events: list[bytes]) -> Iterator[Delta]:
        """The pieces in these events; the first after the usage became known carries it."""
        for data in events:
            if self.over:
                return
            try:
                deltas = self.reader.read(data)
            except _NOT_JSON:
                self.unreadable = True
                return
            for delta in deltas:
                if self._told is self.reader.usage:
                    yield delta
                else:
                    self._told = self.reader.usage
                    yield Delta(delta.kind, delta.text, delta.index, self.priced())

    def priced(self) -> Usage:
        """What has been used so far, with its cost unless the provider has said it itself."""
        usage = self.reader.usage
        if usage.cost_usd is not None:
            return usage
        return msgspec.structs.replace(usage, cost_usd=self._table.cost(self._model_id, usage))
