"""One POST whose answer is a stream of events. Above: `http_model`. Below: aiohttp, `sse`.

A request is sent once: trying again is the harness's decision. No redirect is followed, since it
would take the key elsewhere; nothing is taken from the environment but what `proxy_for` says.
"""

import io
import ssl
from collections.abc import AsyncGenerator, Mapping

import aiohttp
from msgspec import Struct

from brain.engine.model.failures import Code, Secrets, failure
from brain.engine.model.http_refusal import refusal
from brain.engine.model.patience import OutOfPatience, Patience
from brain.engine.model.protocol import Failure
from brain.engine.model.proxying import ProxyFor, no_proxy
from brain.engine.model.sse import EventDecoder, TooLong
from brain_core.clock import Clock

_CONNECT_SECONDS = 30.0
_KEEP_SECONDS = 4.0
"""Common servers close an idle connection after 5 s, and a request that meets that moment fails."""

_MAX_EVENT_BYTES = 16 * 1024 * 1024
_MAX_STREAM_BYTES = 256 * 1024 * 1024

_ERRORS: tuple[tuple[type[Exception], Code, str], ...] = (
    (aiohttp.ClientHttpProxyError, Code.CONNECTION_FAILED, "The proxy refused the connection."),
    (aiohttp.ClientProxyConnectionError, Code.CONNECTION_FAILED, "The proxy isn't reached."),
    (aiohttp.ClientConnectorDNSError, Code.CONNECTION_FAILED, "Its host's name isn't known."),
    (aiohttp.ConnectionTimeoutError, Code.CONNECTION_FAILED, "It took too long."),
    (
        aiohttp.ClientConnectorCertificateError,
        Code.CONNECTION_FAILED,
        "Its certificate isn't valid.",
    ),
    (aiohttp.ClientConnectorError, Code.CONNECTION_FAILED, ""),
    (aiohttp.ServerDisconnectedError, Code.CONNECTION_LOST, ""),
    (aiohttp.ClientPayloadError, Code.CONNECTION_LOST, ""),
    (aiohttp.ClientResponseError, Code.BAD_STREAM, "It doesn't speak HTTP as it should."),
    (aiohttp.ClientError, Code.CONNECTION_LOST, ""),
    (OSError, Code.CONNECTION_LOST, ""),
    (ValueError, Code.BAD_REQUEST, "Its address or a header in the host config can't be used."),
    (TooLong, Code.BAD_STREAM, "It was larger than an answer can be."),
)


class Endpoint(Struct, frozen=True):
    """Where to post to, with which headers. `secrets` are kept out of every message."""

    url: str
    headers: Mapping[str, str]
    secrets: Secrets


class HttpStreams:
    """Sends requests and reads their events. Use it in one event loop."""

    def __init__(self, idle_seconds: float, clock: Clock, proxy_for: ProxyFor = no_proxy) -> None:
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._proxy_for = proxy_for
        self._session: aiohttp.ClientSession | None = None

    def patience(self) -> Patience:
        """How long one answer is waited for."""
        return Patience(self._clock, self._idle_seconds)

    async def post(
        self, endpoint: Endpoint, body: bytes, patience: Patience
    ) -> AsyncGenerator[list[bytes] | Failure]:
        """The data of the events, as they come; a `Failure`, if any, is the last. Never raises.

        Closing the iterator drops the connection at once.
        """
        response: aiohttp.ClientResponse | None = None
        try:
            response = await patience.wait(self._send(endpoint, body))
            refused = await refusal(response, endpoint.secrets, patience)
            if refused is not None:
                yield refused
                return
            decoder = EventDecoder(_MAX_EVENT_BYTES)
            async for chunk in _chunks(response, patience):
                events = decoder.feed(chunk)
                if events:
                    yield events
            yield decoder.end()
            if decoder.nothing_but_strange:
                yield failure(Code.BAD_STREAM)
        except OutOfPatience as silence:
            yield failure(Code.IDLE_TIMEOUT, str(silence))
        except (aiohttp.ClientError, OSError, ValueError, TooLong) as error:
            yield _failed(error)
        finally:
            if response is not None:
                _let_go(response)

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _send(self, endpoint: Endpoint, body: bytes) -> aiohttp.ClientResponse:
        proxy = self._proxy_for(endpoint.url)
        credentials: dict[str, str] = {}
        if proxy is not None and proxy.authorization is not None:
            credentials["Proxy-Authorization"] = proxy.authorization
        # What goes through a tunnel isn't for the proxy to read, and its credentials stay outside.
        tunnel = endpoint.url.startswith("https:")
        return await self._opened().post(
            endpoint.url,
            data=io.BytesIO(body),
            headers=endpoint.headers if tunnel else {**endpoint.headers, **credentials},
            allow_redirects=False,
            proxy=proxy.url if proxy else None,
            proxy_headers=credentials if tunnel else None,
        )

    def _opened(self) -> aiohttp.ClientSession:
        # Made at the first request: it belongs to the event loop that runs then.
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0, keepalive_timeout=_KEEP_SECONDS, ssl=ssl.create_default_context()
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(connect=_CONNECT_SECONDS),
                trust_env=False,
            )
        return self._session


async def _chunks(response: aiohttp.ClientResponse, patience: Patience) -> AsyncGenerator[bytes]:
    """The body as it arrives. Raises: TooLong, OutOfPatience, ClientError."""
    left = _MAX_STREAM_BYTES
    while chunk := await patience.wait(response.content.readany()):
        left -= len(chunk)
        if left < 0:
            raise TooLong
        yield chunk


def _failed(error: Exception) -> Failure:
    """What an exception means. Its own text is left out, since it names hosts."""
    code, detail = next((code, detail) for kind, code, detail in _ERRORS if isinstance(error, kind))
    return failure(code, detail)


def _let_go(response: aiohttp.ClientResponse) -> None:
    """Keep the connection if the answer was read to its end; else drop it, sent or not."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    response.close()
