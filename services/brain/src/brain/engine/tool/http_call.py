"""One POST to a tool service, sent at most once. Above: `dispatch`. Below: `connection`,
`json_reply`, `sse_reply`.

aiohttp repeats a request on its own only for idempotent methods, and POST is none. Nothing is
taken from the environment but the proxy; no redirect is followed, no cookie kept, nothing
decompressed.
"""

import ssl
from collections.abc import Callable, Mapping
from functools import cached_property
from io import BytesIO

import aiohttp
from aiohttp import ClientResponse, ClientSession
from msgspec import Struct
from yarl import URL

from brain.engine.tool.connection import Line, open_session
from brain.engine.tool.json_reply import read_json, too_large
from brain.engine.tool.limits import Limits
from brain.engine.tool.media_type import kind_of
from brain.engine.tool.outcome import Code, Failure
from brain.engine.tool.proxy import Proxies
from brain.engine.tool.sse_reply import OnProgress, read_events

_WRITTEN_AT_ONCE = 256 * 1024


class Post(Struct, frozen=True):
    """A request. `token` and `traceparent` become headers if they are set."""

    url: str
    body: bytes
    max_output_bytes: int
    token: str | None = None
    traceparent: str | None = None


class HttpClient:
    """Sends requests over connections that it keeps for a moment. Use it in one event loop."""

    def __init__(self, env: Mapping[str, str], limits: Limits) -> None:
        """Raises `ValueError` if `env` names a proxy that can't be used."""
        self._proxies = Proxies(env)
        self._limits = limits
        self._tls = ssl.create_default_context()

    @cached_property
    def _session(self) -> ClientSession:
        return open_session(self._limits, self._tls)

    async def post(
        self, post: Post, on_headers: Callable[[], None], on_progress: OnProgress
    ) -> bytes | Failure:
        """Send the request and read the result object's text. Cancel it to drop the connection."""
        line = Line()
        url = _exact(post.url)
        complete = False
        try:
            async with self._session.post(
                url,
                data=_data(post.body),
                headers=_headers(post),
                proxy=self._proxies.for_url(url),
                allow_redirects=False,
            ) as response:
                on_headers()
                reply = await _read(response, line, post.max_output_bytes, on_progress)
                complete = response.content.at_eof()
                return reply
        except (aiohttp.ClientError, OSError) as error:
            return _failure(error)
        finally:
            line.end(complete=complete)

    async def aclose(self) -> None:
        """Close all connections."""
        if "_session" in vars(self):
            await self._session.close()


def _data(body: bytes) -> bytes | BytesIO:
    """A large body is handed over piece by piece, so that writing it doesn't hold the loop."""
    return body if len(body) <= _WRITTEN_AT_ONCE else BytesIO(body)


def _exact(url: str) -> URL:
    """The URL as it is written; only one that isn't ASCII has to be encoded first."""
    return URL(url, encoded=url.isascii())


def _headers(post: Post) -> dict[str, str]:
    headers = {
        "Accept": "application/json, text/event-stream",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        "User-Agent": "brain",
    }
    if post.token is not None:
        headers["Authorization"] = f"Bearer {post.token}"
    if post.traceparent is not None:
        headers["traceparent"] = post.traceparent
    return headers


async def _read(
    response: ClientResponse, line: Line, max_bytes: int, on_progress: OnProgress
) -> bytes | Failure:
    if not 200 <= response.status < 300:
        return Failure(Code.HTTP_STATUS, f"The status is {response.status}.")
    kind = kind_of(response.headers)
    if isinstance(kind, Failure):
        return kind

    async def more() -> bytes:
        return await line.read(response)

    if kind == "text/event-stream":
        return await read_events(more, max_bytes, on_progress)
    if (response.content_length or 0) > max_bytes:
        return too_large(max_bytes)
    return await read_json(more, max_bytes)


_FAILURES: tuple[tuple[type[Exception], Failure], ...] = (
    (
        aiohttp.ClientHttpProxyError,
        Failure(Code.CONNECTION_FAILED, "The proxy refused the connection."),
    ),
    (
        aiohttp.ClientProxyConnectionError,
        Failure(Code.CONNECTION_FAILED, "The proxy could not be reached."),
    ),
    (
        aiohttp.ClientConnectorDNSError,
        Failure(Code.CONNECTION_FAILED, "Its host name was not found."),
    ),
    (
        aiohttp.ClientConnectorCertificateError,
        Failure(Code.CONNECTION_FAILED, "Its TLS certificate is not valid."),
    ),
    (aiohttp.ClientConnectorError, Failure(Code.CONNECTION_FAILED)),
    (aiohttp.ClientResponseError, Failure(Code.BAD_HTTP)),
)
"""What an exception means; the first that fits. Its own text is left out, since it names hosts."""


def _failure(error: Exception) -> Failure:
    fitting = (failure for kind, failure in _FAILURES if isinstance(error, kind))
    return next(fitting, Failure(Code.CONNECTION_LOST))
