"""Which proxy a request goes through. Above: `http_call`. Below: nothing.

The standard variables, in either case; loopback never goes through a proxy.
"""

import base64
import ipaddress
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from brain.engine.tool.http_target import Target

_DEFAULT_PORTS = {"http": 80, "https": 443}


class Proxy(Struct, frozen=True):
    """An HTTP proxy. `authorization` is the header value that it wants, if any."""

    host: str
    port: int
    tls: bool
    authorization: str | None


class Proxies:
    """The proxies that an environment names."""

    def __init__(self, env: Mapping[str, str]) -> None:
        """Raises `ValueError` if a variable holds no proxy that can be used."""
        self._by_scheme = {
            "http": _proxy(env, "HTTP_PROXY"),
            "https": _proxy(env, "HTTPS_PROXY"),
        }
        self._exceptions = tuple(
            _Exception(entry) for entry in _variable(env, "NO_PROXY").replace(",", " ").split()
        )

    def for_target(self, target: Target) -> Proxy | None:
        """The proxy to go through, or None to connect directly."""
        proxy = self._by_scheme[target.scheme]
        host = target.host.rstrip(".").lower()
        if proxy is None or _is_loopback(host):
            return None
        direct = any(entry.covers(host, target.port) for entry in self._exceptions)
        return None if direct else proxy


class _Exception:
    """One entry of `NO_PROXY`: `*`, an address, a range, or a domain; with a port or without."""

    def __init__(self, entry: str) -> None:
        host, self._port = _split_port(entry.lower())
        self._everything = host == "*"
        self._domain = host.removeprefix("*").strip(".")
        try:
            self._network = ipaddress.ip_network(host.strip("[]"), strict=False)
        except ValueError:
            self._network = None

    def covers(self, host: str, port: int) -> bool:
        if self._port is not None and self._port != port:
            return False
        if self._everything:
            return True
        address = _address(host)
        if address is not None:
            return self._network is not None and address in self._network
        return bool(self._domain) and (host == self._domain or host.endswith("." + self._domain))


def _variable(env: Mapping[str, str], name: str) -> str:
    return (env.get(name) or env.get(name.lower()) or "").strip()


def _proxy(env: Mapping[str, str], name: str) -> Proxy | None:
    value = _variable(env, name)
    if not value:
        return None
    try:
        parts = urlsplit(value if "://" in value else f"http://{value}")
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port, parts = "", None, urlsplit("")
    if parts.scheme not in _DEFAULT_PORTS or not host:
        raise ValueError(f"{name} is not the URL of an http or https proxy")
    authorization = _basic(parts.username or "", parts.password or "")
    return Proxy(host, port or _DEFAULT_PORTS[parts.scheme], parts.scheme == "https", authorization)


def _basic(user: str, password: str) -> str | None:
    if not user and not password:
        return None
    credentials = f"{unquote(user)}:{unquote(password)}".encode()
    return "Basic " + base64.b64encode(credentials).decode()


def _split_port(entry: str) -> tuple[str, int | None]:
    host, colon, port = entry.rpartition(":")
    one_colon = ":" not in host or host.endswith("]")
    if colon and one_colon and port.isdecimal():
        return host, int(port)
    return entry, None


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return address.ipv4_mapped
    return address


def _is_loopback(host: str) -> bool:
    address = _address(host)
    if address is not None:
        return address.is_loopback
    return host == "localhost" or host.endswith(".localhost")
