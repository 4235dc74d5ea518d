"""Which proxy a provider is reached through, for whoever builds the models to say.

Above: `wiring`. Below: nothing; the rules themselves are those of tool calls.
"""

from collections.abc import Callable

from msgspec import Struct


class Proxy(Struct, frozen=True):
    """A proxy's URL, and the value of the header that it wants, if any."""

    url: str
    authorization: str | None = None


ProxyFor = Callable[[str], Proxy | None]


def no_proxy(url: str) -> Proxy | None:  # noqa: ARG001 - a ProxyFor
    """Every provider is reached directly."""
    return None
