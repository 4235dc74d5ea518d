"""One POST whose answer is a stream of events. Above: `http_model`. Below: aiohttp, `sse`.

A request is sent once: trying again is the harness's decision. No redirect is followed, since it
would take the key elsewhere; nothing is taken from the environment but what `proxy_for` says.
"""

import io
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

import aiohttp
from msgspec import Struct

from brain.engine.model.failures import (
    Code,
    ProviderError,
    Secrets,
    classify,
    failure,
    read_error,
)
from brain.engine.model.protocol import Failure
from brain.engine.model.proxying import ProxyFor, no_proxy
from brain.engine.model.retry_after import retry_after
from brain.engine.model.sse import EventDecoder, TooLong

_CONNECT_SECONDS = 30.0
_KEEP_SECONDS = 4.0
"""Common servers close an idle connection after 5 s, and a request that meets that moment fails."""

_MAX_ERROR_BYTES = 64 * 1024
_MAX_EVENT_BYTES = 16 * 1024 * 1024
_MAX_STREAM_BYTES = 256 * 1024 * 1024
_NO_STREAM = ("text/html", "application/json", "application/problem+json")


_ERRORS: tuple[tuple[type[Exception], Code, str], ...] = (
    (aiohttp.ClientHttpProxyError, Code.CONNECTION_FAILED, "The proxy refused the connection."),
    (aiohttp.ConnectionTimeoutError, Code.CONNECTION_FAILED, "It took too long."),
    (
        aiohttp.ClientConnectorCertificateError,
        Code.CONNECTION_FAILED,
        "Its certificate isn't valid.",
    ),
    (aiohttp.ServerDisconnectedError, Code.CONNECTION_LOST, ""),
    (aiohttp.ClientPayloadError, Code.CONNECTION_LOST, ""),
    (aiohttp.ClientResponseError, Code.BAD_STREAM, "It doesn't speak HTTP as it should."),
    (ValueError, Code.BAD_REQUEST, "Its address or a header in the host config can't be used."),
)


class Endpoint(Struct, frozen=True):
    """Where to post to, with which headers. `secrets` are kept out of every message."""

    url: str
    headers: Mapping[str, str]
    secrets: Secrets


class HttpStreams:
    """Sends requests and reads their events. Use it in one event loop."""

    def __init__(self, idle_seconds: float, proxy_for: ProxyFor = no_proxy) -> None:
        self._idle_seconds = idle_seconds
        self._proxy_for = proxy_for
        self._session: aiohttp.ClientSession | None = None

    async def post(self, endpoint: Endpoint, body: bytes) -> AsyncGenerator[list[bytes] | Failure]:
        """The data of the events, as they come; a `Failure`, if any, is the last. Never raises.

        Closing the iterator drops the connection at once.
        """
        try:
            response = await self._send(endpoint, body)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            yield self._failed(error, Code.CONNECTION_FAILED)
            return
        try:
            refused = await _refusal(response, endpoint.secrets)
            if refused is not None:
                yield refused
                return
            async with aclosing(_events(response)) as stream:
                async for events in stream:
                    yield events
        except (aiohttp.ClientError, OSError) as error:
            yield self._failed(error, Code.CONNECTION_LOST)
        except TooLong:
            yield failure(Code.BAD_STREAM, "It was larger than an answer can be.")
        finally:
            _let_go(response)

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _send(self, endpoint: Endpoint, body: bytes) -> aiohttp.ClientResponse:
        proxy = self._proxy_for(endpoint.url)
        credentials = proxy.authorization if proxy else None
        return await self._opened().post(
            endpoint.url,
            data=io.BytesIO(body),
            headers=endpoint.headers,
            allow_redirects=False,
            proxy=proxy.url if proxy else None,
            proxy_headers={"Proxy-Authorization": credentials} if credentials else None,
        )

    def _opened(self) -> aiohttp.ClientSession:
        # Made at the first request: it belongs to the event loop that runs then.
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(
                    sock_connect=_CONNECT_SECONDS, sock_read=self._idle_seconds
                ),
                trust_env=False,
            )
        return self._session

    def _failed(self, error: Exception, otherwise: Code) -> Failure:
        """What an exception means. Its own text is left out, since it names hosts."""
        if isinstance(error, aiohttp.SocketTimeoutError):
            return failure(Code.IDLE_TIMEOUT, f"It sent nothing for {self._idle_seconds:g} s.")
        for kind, code, detail in _ERRORS:
            if isinstance(error, kind):
                return failure(code, detail)
        return failure(otherwise)


async def _events(response: aiohttp.ClientResponse) -> AsyncGenerator[list[bytes] | Failure]:
    decoder = EventDecoder(_MAX_EVENT_BYTES)
    left = _MAX_STREAM_BYTES
    some = False
    async for chunk in response.content.iter_any():
        left -= len(chunk)
        if left < 0:
            raise TooLong
        events = decoder.feed(chunk)
        if events:
            some = True
            yield events
    events = decoder.end()
    if events:
        yield events
    elif decoder.strange and not some:
        yield failure(Code.BAD_STREAM)


async def _refusal(response: aiohttp.ClientResponse, secrets: Secrets) -> Failure | None:
    """What an answer means that is no stream; None if it may be one."""
    status, kind = response.status, response.content_type.lower()
    if status == 200 and kind not in _NO_STREAM:
        return None
    if status < 400:
        return await _not_an_answer(response, secrets)
    error = ProviderError() if kind == "text/html" else read_error(await _start_of_body(response))
    after = retry_after(response.headers)
    return failure(
        classify(error, status),
        f"The status was {status}.",
        said=error.text,
        secrets=secrets,
        retry_after=error.retry_after if after is None else after,
    )


async def _not_an_answer(response: aiohttp.ClientResponse, secrets: Secrets) -> Failure:
    """What came in place of a stream although the status tells of no error."""
    if 300 <= response.status < 400:
        return failure(Code.BAD_STREAM, "It was a redirect, which is not followed.")
    if response.content_type.lower() == "text/html":
        return failure(Code.BAD_STREAM, "It was a web page.")
    error = read_error(await _start_of_body(response))
    if error.words or error.text:
        return failure(classify(error), said=error.text, secrets=secrets)
    return failure(Code.BAD_STREAM, "It was no stream.")


async def _start_of_body(response: aiohttp.ClientResponse) -> bytes:
    body = b""
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > _MAX_ERROR_BYTES:
            break
    return body[:_MAX_ERROR_BYTES]


def _let_go(response: aiohttp.ClientResponse) -> None:
    """Keep the connection if the answer was read to its end; else drop it, sent or not."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    response.close()
