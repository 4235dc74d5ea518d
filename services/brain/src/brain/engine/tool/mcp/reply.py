"""Answers on their way to the SDK: each goes through here, an event at a time. Above: `transport`.

Below: `exchange`, `messages`, `sse_events`. The answer to an exchange is noted and an empty one
takes its place; what a server asks passes, and what it tells beside goes another way. Nothing that
a server does makes the SDK fail: whatever is wrong ends in an answer.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Protocol

import httpx2
from msgspec import Raw

from brain.engine.tool.http_response import HttpResponse, NotHttp
from brain.engine.tool.json_reply import too_large
from brain.engine.tool.mcp import messages
from brain.engine.tool.mcp.exchange import Answer, Exchange
from brain.engine.tool.mcp.messages import Message
from brain.engine.tool.outcome import Code, Failure
from brain.engine.tool.sse_events import EventParser, ServerSentEvent

_SHORTEST_RETRY_MS = 100
_LONGEST_RETRY_MS = 30_000


def take_answer(exchange: Exchange, data: bytes) -> bytes | None:
    """Note the answer in `data`; gives what the SDK gets. None if it answers something else."""
    message = messages.read(data)
    if message is None:
        exchange.settle(Failure(Code.BAD_RESULT, "It is not a JSON-RPC message."))
        return messages.void_error(exchange.request_id)
    if not message.is_response or not _same_id(message, exchange):
        return None
    exchange.settle(_answer_in(message))
    if exchange.through:
        return data
    if isinstance(exchange.answer, bytes):
        return messages.void_result(exchange.request_id)
    return messages.void_error(exchange.request_id)


def _answer_in(message: Message) -> Answer:
    if not isinstance(message.error, messages.RpcError):
        assert isinstance(message.result, Raw)
        return bytes(message.result)
    if isinstance(message.result, Raw):
        return Failure(Code.BAD_RESULT, "It holds both a result and an error.")
    return message.error


def _same_id(message: Message, exchange: Exchange) -> bool:
    """Whether it names our request; some servers make a number a string."""
    if not isinstance(message.id, Raw):
        return False
    return bytes(message.id).strip(b'"') == bytes(exchange.request_id).strip(b'"')


class Listener(Protocol):
    """Who hears what a server says that is no answer to the request of its stream."""

    def may_ask(self) -> bool:
        """Whether the server may ask its client for something once more."""
        ...

    def told(self, message: Message) -> None:
        """It has told something, and wants no answer."""
        ...

    def waiting(self, request_id: Raw) -> Exchange | None:
        """The exchange that waits for the answer to this request."""
        ...


class EventReply(httpx2.AsyncByteStream):
    """An event stream, read and written anew: the answer to an exchange, or a server's own.

    A server's own holds no answers, but some write them there.
    """

    def __init__(
        self,
        response: HttpResponse,
        exchange: Exchange | None,
        on_end: Callable[[], None],
        budget: Callable[[int], bool],
        listener: Listener,
    ) -> None:
        """`budget` takes a number of bytes, and says whether so many more may come."""
        self._response = response
        self._exchange = exchange
        self._on_end = on_end
        self._budget = budget
        self._listener = listener
        self._parser = EventParser()
        self._ready: deque[bytes] = deque()
        self._over = False
        self._last_event_id: str | None = None

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while not self._ready:
            if self._over:
                raise StopAsyncIteration
            await self._read()
        return self._ready.popleft()

    @property
    def last_event_id(self) -> str | None:
        """The last event that had an id."""
        return self._last_event_id

    async def aclose(self) -> None:
        self._over = True
        self._on_end()

    async def _read(self) -> None:
        try:
            chunk = await self._response.read_body()
        except NotHttp as error:
            self._fail(Failure(Code.BAD_HTTP, str(error)))
        except OSError:
            self._break_off(Failure(Code.CONNECTION_LOST))
        else:
            self._feed(chunk)
            # A flood of small events must not keep the event loop from the other sessions.
            await asyncio.sleep(0)

    def _feed(self, chunk: bytes) -> None:
        if not chunk:
            self._break_off(Failure(Code.NO_RESULT))
            return
        if not self._budget(len(chunk)):
            self._fail(too_large(self._exchange.limit if self._exchange else 0))
            return
        for event in self._parser.feed(chunk):
            self._take(event)
            if self._over:
                return

    def _take(self, event: ServerSentEvent) -> None:
        if event.id is not None:
            self._last_event_id = event.id.decode(errors="replace")
            if self._exchange is not None:
                self._exchange.last_event_id = self._last_event_id
        if event.name not in (b"", b"message"):
            return
        data = self._passed(event.data) if event.data else b""
        if data is not None:
            self._ready.append(_written(event, data))

    def _passed(self, data: bytes) -> bytes | None:
        """What the SDK gets of a message, if anything."""
        message = messages.read(data)
        if message is None:
            self._fail(Failure(Code.BAD_EVENT, "It is not a JSON-RPC message."))
            return None
        if message.is_response:
            return self._answer(message, data)
        if message.is_request:
            # Each is answered with a request of ours.
            return data if self._listener.may_ask() and messages.fits_sdk(data) else None
        self._listener.told(message)
        return None

    def _answer(self, message: Message, data: bytes) -> bytes | None:
        if self._exchange is not None:
            answer = take_answer(self._exchange, data)
            self._over = answer is not None
            return answer
        found = self._listener.waiting(message.id) if isinstance(message.id, Raw) else None
        return take_answer(found, data) if found is not None and found.take(len(data)) else None

    def _break_off(self, failure: Failure) -> None:
        """The stream has ended early. The SDK asks for the rest, if the server gives it."""
        exchange = self._exchange
        if exchange is None or not exchange.resumable:
            self._fail(failure)
            return
        exchange.unless_resumed = failure
        exchange.resumed += 1
        self._over = True

    def _fail(self, failure: Failure) -> None:
        self._over = True
        if self._exchange is not None:
            self._exchange.settle(failure)
            answer = messages.void_error(self._exchange.request_id)
            self._ready.append(_written(ServerSentEvent(b"", answer), answer))


def _written(event: ServerSentEvent, data: bytes) -> bytes:
    lines: list[bytes] = []
    if event.id is not None and b"\0" not in event.id:
        lines.append(b"id: " + event.id)
    if event.retry is not None and event.retry.isdigit():
        asked = int(event.retry[:9])
        lines.append(b"retry: %d" % min(max(asked, _SHORTEST_RETRY_MS), _LONGEST_RETRY_MS))
    lines += [b"data: " + line for line in data.split(b"\n")]
    return b"\n".join([*lines, b"", b""])
