"""Running a service's app under uvicorn. Above: `service`."""

import asyncio
import signal
import socket
from collections.abc import Generator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette

from tool_service.logs import configure


class CannotServe(Exception):
    """The service can't start; the message is one clear line."""


def serve(app: Starlette, host: str, port: int) -> None:
    """Serve until SIGTERM or SIGINT. Raises: CannotServe."""
    configure()
    listener = _listen(host, port)
    asyncio.run(_serve(app, listener))


async def _serve(app: Starlette, listener: socket.socket) -> None:
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=2,
    )
    server = Server(config)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.stop)
    await server.serve(sockets=[listener])


class Server(uvicorn.Server):
    """Runs until it is told to stop; leaves the process's signals alone."""

    def stop(self) -> None:
        """Take no more calls, and end those that run."""
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol said, or asyncio sets no TCP_NODELAY and each answer may wait 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise CannotServe(
            f"it can't listen on {host}:{port}: {error.strerror}. "
            "Stop what listens there, or choose another address with --listen."
        ) from error
    return listener
