"""From a host name to a connected socket. Above: `http_connection`. Below: the system.

The system's look-up blocks a thread for as long as it likes. Each name has one look-up at a time,
in threads that nothing else uses, so a name that hangs holds up nobody else.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

_THREADS = 16
_STAGGER_SECONDS = 0.25
"""How long the next address waits for the one before: RFC 8305."""


class Address(NamedTuple):
    """Where a socket can connect to."""

    family: int
    place: Any


class UnknownHost(OSError):
    """The name has no address."""


class Resolver:
    """Looks names up, and connects. Use it in one event loop."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, "tool-host-look-up")
        self._running: dict[tuple[str, int], asyncio.Task[Sequence[Address]]] = {}

    async def connect(self, host: str, port: int) -> socket.socket:
        """A connection to the first address that takes it. Raises `OSError`."""
        return await _race(_literal(host, port) or await self._look_up(host, port))

    def close(self) -> None:
        """Wait for no look-up any more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _look_up(self, host: str, port: int) -> Sequence[Address]:
        key = (host, port)
        if key not in self._running:
            task = asyncio.create_task(self._ask(host, port))
            self._running[key] = task
            task.add_done_callback(lambda task: self._forget(key, task))
        return await asyncio.shield(self._running[key])

    async def _ask(self, host: str, port: int) -> Sequence[Address]:
        def ask() -> Sequence[Address]:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            return [Address(family, place) for family, _, _, _, place in found]

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, ask)
        except (OSError, UnicodeError) as error:
            raise UnknownHost from error

    def _forget(self, key: tuple[str, int], task: asyncio.Task[Sequence[Address]]) -> None:
        del self._running[key]
        if not task.cancelled():
            task.exception()  # whoever asked may have gone


def _literal(host: str, port: int) -> Sequence[Address]:
    """The address that `host` is, if it is one."""
    try:
        version = ipaddress.ip_address(host).version
    except ValueError:
        return ()
    if version == 6:
        return (Address(socket.AF_INET6, (host, port, 0, 0)),)
    return (Address(socket.AF_INET, (host, port)),)


async def _race(addresses: Sequence[Address]) -> socket.socket:
    """Try one address after the other, each a moment after the one before or once that failed."""
    left = list(addresses)
    running: set[asyncio.Task[socket.socket]] = set()
    failure: BaseException = UnknownHost()
    try:
        while left or running:
            if left:
                running.add(asyncio.create_task(_attempt(left.pop(0))))
            done, running = await asyncio.wait(
                running,
                timeout=_STAGGER_SECONDS if left else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            connected = [task.result() for task in done if task.exception() is None]
            if connected:
                for late in connected[1:]:
                    late.close()
                return connected[0]
            for task in done:
                failure = task.exception() or failure
        raise failure
    finally:
        await _abandon(running)


async def _abandon(running: set[asyncio.Task[socket.socket]]) -> None:
    for task in running:
        task.cancel()
    for ended in await asyncio.gather(*running, return_exceptions=True):
        if isinstance(ended, socket.socket):
            ended.close()


async def _attempt(address: Address) -> socket.socket:
    sock = socket.socket(address.family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, address.place)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        sock.close()
        raise
    return sock
