"""From a name to its addresses. Above: `guard`. Below: the system's resolver."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""A name and a port to the addresses behind it, as text. Raises: OSError, if there are none."""


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """As everything on this machine resolves names: its hosts file, its DNS servers."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
