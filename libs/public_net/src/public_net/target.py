"""A URL that may be fetched, taken apart once. Above: whoever fetches. Below: httpx2's URL.

What is checked here is what is connected to later: the parts, never the text again, so that no two
readings of one URL can differ. Where the connection may go is the guard's matter.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

import httpx2

_LONGEST = 8192
_DEFAULT_PORTS = {"http": 80, "https": 443}
# Letters, digits and hyphens, as in IDNA's ASCII form, and the underscore that some names have.
_NAME = re.compile(r"(?=.{1,254}\Z)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_-]{1,63}\.?")
# As browsers tell numbers from names: what ends like this is meant as an IPv4 address.
_NUMBER = re.compile(r"(.*\.)?([0-9]+|0x[0-9a-f]*)\.?")
_USER = re.compile(r"[^/?#]*//[^/?#]*@")
_UNFIT = re.compile(r"[\x00-\x20\x7f\\]")


class BadURL(Exception):
    """A URL that can't be fetched; the text says what is wrong with it, fit for users."""


@dataclass(frozen=True)
class Target:
    """An `http` or `https` URL. `host` is a name or an address without brackets, in lower case.

    `path` has the query, percent-encoded; `url` is the whole again, without its fragment.
    """

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The Host header's value."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """The URL without path and query."""
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        return f"{self.origin}{self.path}"

    def follow(self, location: str) -> "Target":
        """Where a redirect from here leads. Raises: BadURL."""
        try:
            return _target(httpx2.URL(self.url).join(_fit(location)))
        except (httpx2.InvalidURL, ValueError) as error:
            raise BadURL("its redirect leads to something that isn't a URL") from error


def read_url(text: str) -> Target:
    """Take a URL apart. Raises: BadURL."""
    try:
        return _target(httpx2.URL(_fit(text)))
    except (httpx2.InvalidURL, ValueError) as error:
        raise BadURL("it isn't a URL; one is like https://example.com/page") from error


def _fit(text: str) -> str:
    """Without what readers of URLs take differently. Raises: BadURL."""
    stripped = text.strip(" \t\r\n")
    if len(stripped) > _LONGEST:
        raise BadURL(f"the URL is longer than {_LONGEST} characters")
    if _UNFIT.search(stripped):
        raise BadURL("a URL has no spaces, control characters or backslashes")
    if _USER.match(stripped):
        raise BadURL("a URL with a user or password isn't fetched")
    return stripped


def _target(url: httpx2.URL) -> Target:
    if url.scheme not in _DEFAULT_PORTS:
        raise BadURL("only http:// and https:// URLs can be fetched")
    if url.userinfo:
        raise BadURL("a URL with a user or password isn't fetched")
    port = _DEFAULT_PORTS[url.scheme] if url.port is None else url.port
    if not 0 < port < 65_536:
        raise BadURL("its port isn't a number from 1 to 65535")
    return Target(url.scheme, _host(url), port, url.raw_path.decode("ascii"))


def _host(url: httpx2.URL) -> str:
    host = url.raw_host.decode("ascii").lower()
    if ":" in host:
        return str(IPv6Address(host)) if "%" not in host else _bad_host()
    if _NUMBER.fullmatch(host):
        try:
            return str(IPv4Address(host))
        except ValueError:
            raise BadURL(
                "an IPv4 address is written as four decimal numbers, like 192.0.2.1"
            ) from None
    return host if _NAME.fullmatch(host) else _bad_host()


def _bad_host() -> str:
    raise BadURL("its host isn't the name of a host")
