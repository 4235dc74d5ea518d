"""A gRPC service from an object with a method for each rpc. Above: `modal`. Below: grpclib."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from grpclib import GRPCError, Status
from grpclib.server import Stream


class Cut(Exception):
    """The stream is to end as it stands."""


class Call:
    """One call: what it asks, and what comes with it."""

    def __init__(self, asked: Any, stream: "Stream[Any, Any]") -> None:
        self.asked = asked
        given: Mapping[str, str | bytes] = stream.metadata or {}
        self.metadata = {name: each for name, each in given.items() if isinstance(each, str)}
        self._stream = stream

    async def send(self, message: Any) -> None:
        """One message of an answer that has many."""
        await self._stream.send_message(message)

    def cut(self) -> Cut:
        """To raise, so that the stream ends without an answer."""
        return Cut()


def servicer(base: type[Any], methods: object) -> Any:
    """The service of a grpclib base. `SandboxCreate` is answered by `methods.sandbox_create`.

    A method gives its answer, or None if it sent what there is. An rpc without one is
    unimplemented.
    """
    table = {name: _handler(name, methods) for name in base.__abstractmethods__}
    return type(base.__name__, (base,), table)()


def _handler(name: str, methods: object) -> Callable[[Any, "Stream[Any, Any]"], Awaitable[None]]:
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    method: Callable[[Call], Awaitable[Any]] | None = getattr(methods, snake, None)

    async def handle(_self: Any, stream: "Stream[Any, Any]") -> None:
        if method is None:
            raise GRPCError(Status.UNIMPLEMENTED, f"the stand-in has no {name}")
        try:
            answer = await method(Call(await stream.recv_message(), stream))
        except Cut:
            await stream.cancel()
            return
        if answer is not None:
            await stream.send_message(answer)

    return handle
