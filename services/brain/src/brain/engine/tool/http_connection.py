"""Connections to tool services, directly or through a proxy. Above: `http_call`.

Below: `resolver`, `wire`. A connection is kept for a moment after a call, and used again only if
nothing has come over it meanwhile. Nothing here ever sends a request, let alone twice.
"""

import asyncio
import ssl
from collections import defaultdict
from collections.abc import Callable
from functools import cached_property

from msgspec import Struct

from brain.engine.tool.http_target import Target
from brain.engine.tool.outcome import Code, Failure
from brain.engine.tool.proxy import Proxies, Proxy
from brain.engine.tool.resolver import Resolver, UnknownHost
from brain.engine.tool.wire import Wire

_MAX_TUNNEL_ANSWER = 16 * 1024


class _Key(Struct, frozen=True):
    scheme: str
    host: str
    port: int
    proxy: Proxy | None


class Connection(Struct, frozen=True):
    """A wire to a service. `asks_proxy`: a proxy reads the request and passes it on."""

    wire: Wire
    key: _Key

    @property
    def asks_proxy(self) -> Proxy | None:
        """The proxy that reads the request, if one does; through a tunnel none does."""
        return self.key.proxy if self.key.scheme == "http" else None


def always() -> bool:
    """Where there is only one engine, nobody can take its sessions over."""
    return True


class Connections:
    """Opens connections, and keeps them for `reuse_seconds`. Use it in one event loop."""

    def __init__(
        self, proxies: Proxies, reuse_seconds: float, may_send: Callable[[], bool] = always
    ) -> None:
        """`may_send` is asked when a connection is ready, at the last moment before a request.

        An engine that was paused for so long that another may have taken its sessions over must
        send nothing any more.
        """
        self._proxies = proxies
        self._may_send = may_send
        self._reuse_seconds = reuse_seconds
        self._resolver = Resolver()
        self._idle: defaultdict[_Key, list[Connection]] = defaultdict(list)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        # Reading the system's certificates takes some 20 ms: not where there is no https.
        return ssl.create_default_context()

    async def get(self, target: Target) -> Connection | Failure:
        """A connection that is ready for a request. Write it before giving up control."""
        connection = await self._ready(target)
        if isinstance(connection, Connection) and not self._may_send():
            connection.wire.drop()
            return Failure(Code.REFUSED_UNAVAILABLE, "This server may no longer serve the session.")
        return connection

    async def _ready(self, target: Target) -> Connection | Failure:
        proxy = self._proxies.for_target(target)
        key = _Key(target.scheme, target.host, target.port, proxy)
        idle = self._idle.get(key)
        while idle:
            connection = idle.pop()
            if connection.wire.fresh:
                return connection
            connection.wire.drop()
        return await self._open(key, target)

    def put_back(self, connection: Connection, *, reusable: bool) -> None:
        """After a call: keep the connection for the next, or drop it at once."""
        wire = connection.wire
        if not (reusable and wire.fresh and wire.written and self._reuse_seconds > 0):
            wire.drop()
            return
        self._idle[connection.key].append(connection)
        asyncio.get_running_loop().call_later(self._reuse_seconds, self._expire, connection)

    def close(self) -> None:
        """Drop what is kept."""
        for connections in self._idle.values():
            for connection in connections:
                connection.wire.drop()
        self._idle.clear()
        self._resolver.close()

    def _expire(self, connection: Connection) -> None:
        idle = self._idle.get(connection.key, [])
        if connection in idle:
            idle.remove(connection)
            connection.wire.drop()
        if not idle:
            self._idle.pop(connection.key, None)

    async def _open(self, key: _Key, target: Target) -> Connection | Failure:
        try:
            if key.proxy is None:
                wire = await self._connect(key.host, key.port, tls=key.scheme == "https")
                return Connection(wire, key)
        except OSError as error:
            return _failure(error)
        return await self._open_through(key.proxy, key, target)

    async def _open_through(self, proxy: Proxy, key: _Key, target: Target) -> Connection | Failure:
        try:
            wire = await self._connect(proxy.host, proxy.port, tls=proxy.tls)
        except OSError:
            return Failure(Code.CONNECTION_FAILED, "The proxy could not be reached.")
        if key.scheme == "http":
            return Connection(wire, key)
        try:
            if not await _tunnel(wire, proxy, target):
                wire.drop()
                return Failure(Code.CONNECTION_FAILED, "The proxy refused the connection.")
            await wire.start_tls(self._tls, key.host)
        except OSError as error:
            wire.drop()
            return _failure(error)
        except BaseException:
            wire.drop()
            raise
        return Connection(wire, key)

    async def _connect(self, host: str, port: int, *, tls: bool) -> Wire:
        sock = await self._resolver.connect(host, port)
        return await Wire.over(sock, self._tls if tls else None, host)


async def _tunnel(wire: Wire, proxy: Proxy, target: Target) -> bool:
    """Ask the proxy for a tunnel to the target; whether it agreed."""
    place = f"[{target.host}]" if ":" in target.host else target.host
    lines = [f"CONNECT {place}:{target.port} HTTP/1.1", f"Host: {place}:{target.port}"]
    if proxy.authorization:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    wire.write("\r\n".join([*lines, "", ""]).encode("ascii"))
    answer = b""
    while b"\r\n\r\n" not in answer and len(answer) < _MAX_TUNNEL_ANSWER:
        # One byte at a time at the end: what follows the answer is not the proxy's.
        more = await wire.read(1)
        if not more:
            return False
        answer += more
    return answer.startswith((b"HTTP/1.1 2", b"HTTP/1.0 2"))


def _failure(error: OSError) -> Failure:
    """What an exception means. Its own text is left out, since it names hosts."""
    detail = ""
    if isinstance(error, UnknownHost):
        detail = "Its host name was not found."
    elif isinstance(error, ssl.SSLCertVerificationError):
        detail = "Its TLS certificate is not valid."
    return Failure(Code.CONNECTION_FAILED, detail)
