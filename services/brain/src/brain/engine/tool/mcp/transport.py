"""The SDK's requests over Brain's own HTTP. Above: `session`, by way of httpx2 and the SDK.

Below: `request`, `reply`, `http_connection`. A request is written in one place, once. Nothing is
raised to the SDK, since that would end all calls of its session: what fails becomes an answer.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from typing import Any

import httpx2
import msgspec
from msgspec import Raw, Struct

from brain.engine.tool.http_call import HttpClient
from brain.engine.tool.http_connection import Connection
from brain.engine.tool.http_response import HttpResponse, NotHttp
from brain.engine.tool.mcp import messages, notices, request, substitutes
from brain.engine.tool.mcp.allowance import Allowance
from brain.engine.tool.mcp.channel import Channel
from brain.engine.tool.mcp.exchange import Exchange, sdk_exchange
from brain.engine.tool.mcp.messages import Message, RpcError
from brain.engine.tool.mcp.notices import LogLine
from brain.engine.tool.mcp.reply import EventReply
from brain.engine.tool.media_type import kind_of
from brain.engine.tool.outcome import Code, Failure

_DROP_SECONDS = 0.5
"""How long a cancelled call's connection is kept, so that the server hears of it first."""

_KEPT_SECONDS = 0.8
"""The same, if the SDK has not even said that it is cancelled."""

_LISTEN_SECONDS = 0.25
_ASIDE_SECONDS = 10.0
_ASIDE_AT_ONCE = 32
_DELETE_SECONDS = 1.0
_SDK_BYTES = 1024 * 1024
_UNASKED_BYTES = 16 * 1024 * 1024
"""Of what a server says on the stream of its own, in one session."""

_OPENED_AT_ONCE, _OPENED_PER_SECOND = 10, 0.1
"""How often that stream is opened anew for a server that closes it."""

_ASKED_AT_ONCE, _ASKED_PER_SECOND = 100, 1.0
"""How many requests of a server's own are answered; some ask for a ping now and then."""

_REFUSALS = frozenset({-32601, -32602})
"""Method not found, invalid params: the tool isn't known, or never began."""


class _Cancelled(Struct, frozen=True):
    request_id: Raw = msgspec.field(default=Raw(b"null"), name="requestId")


class McpTransport(httpx2.AsyncBaseTransport):
    """What carries one MCP session. `header_bytes` are those that a response may have.

    `retired`: the session is of no more use.
    """

    def __init__(
        self,
        http: HttpClient,
        url: str,
        token: str | None,
        header_bytes: int,
        on_log: Callable[[LogLine], None],
    ) -> None:
        self._made_by_sdk: Exchange | None = None
        self.retired = False
        self._channel = Channel(http, url, token, header_bytes)
        self._exchanges: dict[str, Exchange] = {}
        self._has_session = False
        self._listens = asyncio.Event()
        self._own: EventReply | None = None
        self._unasked_left = _UNASKED_BYTES
        self._openings = Allowance(_OPENED_AT_ONCE, _OPENED_PER_SECOND)
        self._asked = Allowance(_ASKED_AT_ONCE, _ASKED_PER_SECOND)
        self._on_log = on_log
        self._tasks: set[asyncio.Task[None]] = set()

    @contextmanager
    def taking(self, mark: str, exchange: Exchange) -> Generator[None]:
        """While the block runs, the request with this mark is this exchange.

        If it is abandoned, the server is still to be told so, and it is kept until then.
        """
        self._exchanges[mark] = exchange
        try:
            yield
        except asyncio.CancelledError:
            exchange.abandoned = True
            raise
        finally:
            if exchange.abandoned:
                asyncio.get_running_loop().call_later(_KEPT_SECONDS, self._give_up, mark)
            else:
                self._give_up(mark)

    def _give_up(self, mark: str) -> None:
        self._exchanges.pop(mark).drop()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "POST":
            return await self._post(request)
        if request.method == "GET":
            return await self._listen(request)
        if not self.retired:
            await self._channel.tell(request, b"", _DELETE_SECONDS)
        return httpx2.Response(200)

    @property
    def failure(self) -> Failure | None:
        """Why the last request that the SDK made by itself was not answered."""
        answer = None if self._made_by_sdk is None else self._made_by_sdk.answer
        return answer if isinstance(answer, Failure) else None

    async def aclose(self) -> None:
        """End what still goes out aside."""
        for task in tuple(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _post(self, sent: httpx2.Request) -> httpx2.Response:
        body = await sent.aread()
        message = messages.read(body)
        assert message is not None  # the SDK wrote it
        if message.is_request:
            return await self._ask(sent, message, body)
        if message.method == "notifications/initialized":
            # Nothing may overtake it, nor the server's own stream: progress may come over that.
            await self._channel.tell(sent, body, _ASIDE_SECONDS)
            await self._listened()
        elif message.method == "notifications/cancelled":
            self._cancel(sent, message, body)
        elif len(self._tasks) < _ASIDE_AT_ONCE:
            self._aside(self._channel.tell(sent, body, _ASIDE_SECONDS))
        return httpx2.Response(202)

    async def _listened(self) -> None:
        """Wait a moment until the server's own stream is there, if the SDK asks for it."""
        if self._has_session:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LISTEN_SECONDS):
                    await self._listens.wait()

    def _cancel(self, sent: httpx2.Request, message: Message, body: bytes) -> None:
        assert isinstance(message.params, Raw)
        cancelled = msgspec.json.decode(message.params, type=_Cancelled).request_id
        for exchange in self._exchanges.values():
            if bytes(exchange.request_id) == bytes(cancelled):
                exchange.abandoned = True
                if exchange.sent:
                    self._aside(self._tell_and_drop(sent, body, exchange))

    async def _tell_and_drop(self, sent: httpx2.Request, body: bytes, exchange: Exchange) -> None:
        try:
            await self._channel.tell(sent, body, _DROP_SECONDS)
        finally:
            exchange.drop()

    async def _ask(self, sent: httpx2.Request, message: Message, body: bytes) -> httpx2.Response:
        """Send a request. What comes of it is noted in its exchange."""
        assert isinstance(message.id, Raw)
        mark = request.mark_of(message)
        if mark is None:
            exchange = sdk_exchange(_SDK_BYTES)
        elif mark in self._exchanges:
            exchange = self._exchanges[mark]
            body = request.body_of(message, exchange.arguments)
        else:  # it was given up before its turn came, and whoever asked was told so
            return substitutes.voided(message.id)
        exchange.request_id = message.id
        response = await self._exchanged(sent, body, exchange)
        if exchange.through:
            self._made_by_sdk = exchange
        elif isinstance(exchange.answer, Failure) and exchange.answer.code in _UNUSABLE:
            self.retired = True
        return response

    async def _exchanged(
        self, sent: httpx2.Request, body: bytes, exchange: Exchange
    ) -> httpx2.Response:
        connection = await self._channel.connect()
        if isinstance(connection, Failure):
            return substitutes.failed(exchange, connection)
        if exchange.abandoned:
            connection.wire.drop()
            return substitutes.failed(exchange, Failure(Code.INTERRUPTED))
        response = self._channel.response(connection)
        exchange.connection = connection
        streams = False
        try:
            exchange.on_sent()
            exchange.sent = True
            self._channel.write(sent, body, connection, exchange.headers)
            await response.read_head()
            exchange.on_headers()
            answer = await self._answered(response, exchange)
            streams = isinstance(answer.stream, EventReply)
            return answer
        except NotHttp as error:
            return substitutes.failed(exchange, Failure(Code.BAD_HTTP, str(error)))
        except OSError:
            return substitutes.failed(exchange, Failure(Code.CONNECTION_LOST))
        finally:
            if not streams:
                self._end(response, exchange)

    async def _answered(self, response: HttpResponse, exchange: Exchange) -> httpx2.Response:
        """What the SDK gets for a response of which the headers are read."""
        if not 200 <= response.status < 300:
            return await self._refused(response, exchange)
        kind = kind_of(response)
        if isinstance(kind, Failure):
            return substitutes.failed(exchange, kind)
        session_id = substitutes.session_id(response)
        self._has_session = self._has_session or bool(session_id)
        headers = {"content-type": kind, **session_id}
        if kind == "text/event-stream":
            return httpx2.Response(200, headers=headers, stream=self._stream(response, exchange))
        data = await substitutes.document(response, exchange)
        if isinstance(data, Failure):
            return substitutes.failed(exchange, data)
        return httpx2.Response(200, headers=headers, content=data)

    async def _refused(self, response: HttpResponse, exchange: Exchange) -> httpx2.Response:
        """A status that isn't 2xx. Of its body only an error's code counts, and for the SDK all.

        The SDK finds out by it which protocol a server speaks.
        """
        failure = Failure(Code.HTTP_STATUS, f"The status is {response.status}.")
        error = await substitutes.error_body(response) if 400 <= response.status < 500 else b""
        if exchange.through:
            exchange.settle(failure)
            status = response.status if response.status >= 400 else 502
            headers = {"content-type": "application/json"} if error else {}
            return httpx2.Response(status, headers=headers, content=error)
        message = messages.read(error)
        refused = None if message is None else message.error
        if isinstance(refused, RpcError) and refused.code in _REFUSALS:
            exchange.settle(RpcError(refused.code))
        return substitutes.failed(exchange, failure)

    async def _listen(self, sent: httpx2.Request) -> httpx2.Response:
        """Open the stream of what a server says by itself, or the rest of an answer's."""
        last_event_id: str | None = sent.headers.get("last-event-id")
        exchange = self._resumed(last_event_id)
        if exchange is None and not self._may_listen(last_event_id):
            return httpx2.Response(405)
        if exchange is None:
            await self._openings.wait()
        connection = await self._channel.connect()
        if isinstance(connection, Failure):
            self.retired = self.retired or exchange is None
            return httpx2.Response(503)
        response = self._channel.response(connection)
        streams = False
        try:
            self._channel.write(sent, b"", connection)
            await response.read_head()
            streams = response.status == 200 and kind_of(response) == "text/event-stream"
            return self._listening(response, connection, exchange, streams=streams)
        except (NotHttp, OSError):
            return httpx2.Response(503)
        finally:
            self._listens.set()
            if not streams:
                self._channel.let_go(connection, response)

    def _listening(
        self,
        response: HttpResponse,
        connection: Connection,
        exchange: Exchange | None,
        *,
        streams: bool,
    ) -> httpx2.Response:
        if not streams:
            # A server without such a stream says 405; with any other it has forgotten the session.
            self.retired = self.retired or (exchange is None and response.status in (401, 404))
            return httpx2.Response(max(response.status, 405))
        headers = {"content-type": "text/event-stream"}
        if exchange is None:
            stream = self._own = EventReply(
                response,
                None,
                lambda: self._channel.let_go(connection, response),
                self._unasked,
                self,
            )
        else:
            exchange.connection = connection
            stream = self._stream(response, exchange)
        return httpx2.Response(200, headers=headers, stream=stream)

    def _stream(self, response: HttpResponse, exchange: Exchange) -> EventReply:
        return EventReply(
            response, exchange, lambda: self._end(response, exchange), exchange.take, self
        )

    def _resumed(self, last_event_id: str | None) -> Exchange | None:
        """The exchange whose stream ended with this event."""
        for exchange in self._exchanges.values():
            if last_event_id is not None and exchange.last_event_id == last_event_id:
                return exchange if exchange.waits else None
        return None

    def waiting(self, request_id: Raw) -> Exchange | None:
        """As `Listener`."""
        for exchange in self._exchanges.values():
            if exchange.waits and bytes(exchange.request_id) == bytes(request_id):
                return exchange
        return None

    def may_ask(self) -> bool:
        """As `Listener`."""
        return self._asked.take()

    def told(self, message: Message) -> None:
        """As `Listener`. Progress may come on any stream of the session."""
        if message.method == notices.PROGRESS:
            progress = notices.progress_of(message)
            exchange = None if progress is None else self._exchanges.get(progress.token)
            if progress is not None and exchange is not None and exchange.waits:
                exchange.on_progress(progress)
        elif message.method == notices.LOG:
            line = notices.log_line_of(message)
            if line is not None:
                self._on_log(line)

    def _may_listen(self, last_event_id: str | None) -> bool:
        """Whether the server's own stream may be opened; it is what the SDK has last read of."""
        own = None if self._own is None else self._own.last_event_id
        return self._unasked_left > 0 and last_event_id in (None, own)

    def _unasked(self, size: int) -> bool:
        self._unasked_left -= size
        return self._unasked_left >= 0

    def _end(self, response: HttpResponse, exchange: Exchange) -> None:
        connection, exchange.connection = exchange.connection, None
        if connection is not None:
            self._channel.let_go(connection, response)

    def _aside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


_UNUSABLE = frozenset({Code.HTTP_STATUS, Code.CONNECTION_FAILED, Code.CONNECTION_LOST})
