"""One POST to a tool service, sent at most once. Above: `dispatch`.

Below: `http_connection`, `http_response`, `json_reply`, `sse_reply`. The request is written in one
place, once. No redirect is followed, no cookie kept, nothing decompressed.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct

from brain.engine.tool.http_connection import Connection, Connections, always
from brain.engine.tool.http_response import HttpResponse, NotHttp
from brain.engine.tool.http_target import Target, parse_target
from brain.engine.tool.json_reply import read_json, too_large
from brain.engine.tool.limits import Limits
from brain.engine.tool.media_type import kind_of
from brain.engine.tool.outcome import Code, Failure
from brain.engine.tool.pace import Pace
from brain.engine.tool.proxy import Proxies
from brain.engine.tool.sse_reply import OnProgress, read_events


class Post(Struct, frozen=True):
    """A request. `token` and `traceparent` become headers if they are set."""

    url: str
    body: bytes
    max_output_bytes: int
    token: str | None = None
    traceparent: str | None = None


class HttpClient:
    """Sends requests. Use it in one event loop.

    Whoever speaks another protocol over HTTP shares its connections, and takes turns with it.
    """

    def __init__(
        self, env: Mapping[str, str], limits: Limits, may_send: Callable[[], bool] = always
    ) -> None:
        """Raises `ValueError` if `env` names a proxy that can't be used."""
        self.connections = Connections(Proxies(env), limits.reuse_seconds, may_send)
        self._header_bytes = limits.header_bytes
        self.pace = Pace()

    async def post(
        self, post: Post, on_headers: Callable[[], None], on_progress: OnProgress
    ) -> bytes | Failure:
        """Send the request and read the result object's text. Cancel it to drop the connection."""
        target = parse_target(post.url)
        connection = await self.connections.get(target)
        if isinstance(connection, Failure):
            return connection
        response = HttpResponse(connection.wire, self.pace, self._header_bytes)
        try:
            connection.wire.write(_request(post, target, connection))
            await response.read_head()
            on_headers()
            return await _read(response, post.max_output_bytes, on_progress)
        except NotHttp as error:
            return Failure(Code.BAD_HTTP, str(error))
        except OSError:
            return Failure(Code.CONNECTION_LOST)
        finally:
            self.connections.put_back(connection, reusable=response.reusable)

    def close(self) -> None:
        """Close the connections that are kept."""
        self.connections.close()


def _request(post: Post, target: Target, connection: Connection) -> bytes:
    proxy = connection.asks_proxy
    headers = {
        "Host": target.authority,
        "User-Agent": "brain",
        "Accept": "application/json, text/event-stream",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        "Content-Length": str(len(post.body)),
        "Authorization": None if post.token is None else f"Bearer {post.token}",
        "traceparent": post.traceparent,
        "Proxy-Authorization": proxy.authorization if proxy else None,
    }
    lines = [f"POST {target.url if proxy else target.path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items() if value is not None]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + post.body


async def _read(response: HttpResponse, max_bytes: int, on_progress: OnProgress) -> bytes | Failure:
    if not 200 <= response.status < 300:
        return Failure(Code.HTTP_STATUS, f"The status is {response.status}.")
    kind = kind_of(response)
    if isinstance(kind, Failure):
        return kind
    if kind == "text/event-stream":
        return await read_events(response.read_body, max_bytes, on_progress)
    if any(int(length) > max_bytes for length in response.all("content-length")):
        return too_large(max_bytes)
    return await read_json(response.read_body, max_bytes)
