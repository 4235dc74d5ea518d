"""Where a request goes, and how it names that place. Above: `http_connection`, `http_call`."""

from urllib.parse import quote, urlsplit

from msgspec import Struct

_AS_WRITTEN = "".join(map(chr, range(0x21, 0x7F)))
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Target(Struct, frozen=True):
    """A URL, taken apart. `authority` and `path` are as they are written in a request.

    `host` is without the brackets of an IPv6 address; `path` includes the query.
    """

    scheme: str
    host: str
    port: int
    authority: str
    path: str

    @property
    def url(self) -> str:
        """The whole URL, as a proxy wants it."""
        return f"{self.scheme}://{self.authority}{self.path}"


def parse_target(url: str) -> Target:
    """Take a valid http or https URL apart. Only what can't stand in a request is encoded."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    authority = parts.netloc.rpartition("@")[2]
    if not host.isascii():
        host = host.encode("idna").decode()
        authority = host if parts.port is None else f"{host}:{parts.port}"
    _, _, rest = url.partition("://")
    path = rest[len(parts.netloc) :]
    if not path.startswith("/"):
        path = "/" + path
    port = parts.port or _DEFAULT_PORTS[parts.scheme]
    return Target(parts.scheme, host, port, authority, quote(path, safe=_AS_WRITTEN))
