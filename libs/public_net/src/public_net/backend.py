"""The guard inside an HTTP client: every TCP connection of an httpcore pool goes through it.

Above: whoever makes a pool with `network_backend=GuardedBackend(guard)`. Below: `guard`. TLS, the
name in the certificate and the Host header stay those of the URL, since only the connection is made
by address.
"""

from collections.abc import Iterable
from typing import Any

from httpcore2 import AnyIOBackend, AsyncNetworkStream, ConnectError, ConnectTimeout

from public_net.guard import Guard, Refused


class GuardedBackend(AnyIOBackend):
    """Connects where its guard lets it. Raises, beside httpcore's errors: Refused, Unresolved."""

    def __init__(self, guard: Guard) -> None:
        super().__init__()
        self._guard = guard

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncNetworkStream:
        """A connection to the first address that takes one. `timeout` is for each, in seconds."""
        failure: Exception = ConnectError("no address")
        for address in await self._guard.addresses(host, port):
            try:
                return await super().connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except (ConnectError, ConnectTimeout) as error:
                failure = error
        raise failure

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncNetworkStream:
        """Refused, always."""
        del path, timeout, socket_options
        raise Refused("a socket of this machine isn't a public address")
