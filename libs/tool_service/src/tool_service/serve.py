"""Running a service's app under uvicorn. Above: `service`, `command`."""

import asyncio
import signal
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.applications import Starlette

from tool_service.resource import CannotServe

_GRACE_SECONDS = 2


class Server(uvicorn.Server):
    """Runs until it is told to stop; leaves the process's signals alone."""

    def __init__(self, app: Starlette) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                lifespan="off",
                timeout_graceful_shutdown=_GRACE_SECONDS,
            )
        )

    def stop(self) -> None:
        """Take no more calls, and end those that run."""
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


@asynccontextmanager
async def serving(app: Starlette, listener: socket.socket) -> AsyncGenerator[None]:
    """Serve while the block runs; it has the listener from then on."""
    server = Server(app)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        server.stop()
        await task


async def until_told_to_stop() -> None:
    """Return once SIGTERM or SIGINT came."""
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    await told.wait()


def address(option: str, value: str) -> tuple[str, int]:
    """The host and port in `HOST:PORT`. Raises: CannotServe."""
    host, _, port = value.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise CannotServe(f"{option} must be HOST:PORT, for example 127.0.0.1:8081.")
    return host.strip("[]"), int(port)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises: CannotServe."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol said, or asyncio sets no TCP_NODELAY and each answer may wait 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise CannotServe(
            f"it can't listen on {host}:{port}: {error.strerror}. "
            "Stop what listens there, or choose another address."
        ) from error
    return listener
