"""Where other machines reach this engine. Above: `wiring`."""

import socket

_ANY = {"0.0.0.0", "[::]"}  # noqa: S104 - read, not bound
# Addresses that are set aside for documentation: nothing is sent there, but there is a way to them.
_SOMEWHERE = {
    socket.AF_INET: ("192.0.2.1", 9),
    socket.AF_INET6: ("2001:db8::1", 9),
}


def advertised(listen: str) -> str:
    """The address to tell others, for one to listen on: `unix:PATH` or `HOST:PORT`."""
    host, _, port = listen.rpartition(":")
    if host not in _ANY:
        return listen
    family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
    own = _own_address(family)
    return f"[{own}]:{port}" if ":" in own else f"{own}:{port}"


def _own_address(family: socket.AddressFamily) -> str:
    """The address that this machine would connect to another from."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_SOMEWHERE[family])
        except OSError:  # it has no way out: then its name is all there is
            return socket.gethostname()
        return str(probe.getsockname()[0])
