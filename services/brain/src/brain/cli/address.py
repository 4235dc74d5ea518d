"""Where a process listens: `HOST:PORT` or `unix:PATH`, asked from outside. Above: `children`, `up`.

Plain sockets and the standard library's HTTP: a supervisor lives as long as its server does, and
needn't hold an HTTP client or gRPC in memory for three questions.
"""

import errno
import http.client
import os
import socket
from typing import NamedTuple

from brain.config.host import split_listen

_UNIX = "unix:"
_SECONDS = 2.0


class Answer(NamedTuple):
    """Whether a process is ready, and, if it isn't, what it says of that."""

    ready: bool
    said: str = ""


def trouble_at(listen: str) -> str | None:
    """Why nothing can listen here now (`is in use`), if so."""
    if listen.startswith(_UNIX):
        return "is in use" if answer_at(listen, None).ready else None
    host, port = split_listen(listen)
    try:
        with socket.socket(_family(host), socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return "is in use"
        return f"can't be used ({error.strerror or error})"
    return None


def answer_at(listen: str, path: str | None) -> Answer:
    """Ask with `GET path`, or, without a path, by connecting. Blocks for at most a few seconds."""
    try:
        return Answer(ready=_connects(listen)) if path is None else _get(listen, path)
    except (OSError, http.client.HTTPException) as error:
        return Answer(ready=False, said=str(error))


def url_of(listen: str) -> str:
    """The address for a client on this machine."""
    host, port = split_listen(listen)
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - not a bind
    return f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"


def _connects(listen: str) -> bool:
    if listen.startswith(_UNIX):
        target: str | tuple[str, int] = listen.removeprefix(_UNIX)
        family = socket.AF_UNIX
    else:
        target = split_listen(listen)
        family = _family(target[0])
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(_SECONDS)
        probe.connect(target)
    return True


def _get(listen: str, path: str) -> Answer:
    host, port = split_listen(listen)
    connection = http.client.HTTPConnection(host, port, timeout=_SECONDS)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        said = f"it answers {response.status} {os.fsdecode(response.reason)}"
        return Answer(response.status == http.HTTPStatus.OK, said)
    finally:
        connection.close()


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
