"""Decides where a connection may go. Above: `backend`, and whoever connects by other means.

Below: `address`, `resolver`. A name is resolved once, every address that it has is judged, and the
connection is made to one of these very addresses: a name that answers differently the next time
gains nothing.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address

from public_net.address import IPAddress, why_not_public
from public_net.resolver import Resolver, system_resolver

_TRIED = 4
_RESOLVE_SECONDS = 10.0


class Refused(Exception):
    """The guard doesn't let a connection go there. The text is fit for users: no address in it."""


class Unresolved(Exception):
    """The name has no address, or its DNS servers don't answer. The text is fit for users."""


@dataclass(frozen=True)
class Guard:
    """The rules: which ports (None for all), who resolves names, what is refused and why.

    `judge` says what kind of address it is that is refused, or None. It and `resolve` are here for
    tests, which have their servers on this machine. No setting of a service reaches them.
    """

    ports: frozenset[int] | None = frozenset({80, 443})
    resolve: Resolver = system_resolver
    judge: Callable[[IPAddress], str | None] = why_not_public

    async def addresses(self, host: str, port: int) -> list[str]:
        """Where a connection to a name or an address may go, to be tried in this order.

        They are addresses in the usual notation; connect to them without resolving anything again.
        Raises: Refused; Unresolved.
        """
        if self.ports is not None and port not in self.ports:
            allowed = " and ".join(str(each) for each in sorted(self.ports))
            raise Refused(f"port {port} isn't allowed, only {allowed}")
        found = _read(host)
        known = [found] if found else await self._resolved(host, port)
        # One address that isn't public spoils the name: it would be a matter of luck otherwise.
        if any(self.judge(each) for each in known):
            raise Refused(f"{host} is not at a public address")
        return [str(each) for each in known[:_TRIED]]

    async def _resolved(self, host: str, port: int) -> list[IPAddress]:
        try:
            async with asyncio.timeout(_RESOLVE_SECONDS):
                texts = await self.resolve(host, port)
        except TimeoutError:
            raise Unresolved(f"no DNS server answered for {host}") from None
        except (OSError, UnicodeError) as error:
            raise Unresolved(f"there is no host {host}") from error
        known = [_read(text) for text in texts]
        if not known:
            raise Unresolved(f"there is no host {host}")
        if None in known:
            raise Refused(f"{host} is not at a public address")
        return [each for each in known if each is not None]


def _read(text: str) -> IPAddress | None:
    """An address in the usual notation; a zone (`fe80::1%eth0`) doesn't change what it is."""
    try:
        return ip_address(text.split("%", 1)[0])
    except ValueError:
        return None
