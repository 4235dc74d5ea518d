"""The way down to the engines: each call goes to the one that owns its session.

Above: routes, `auth` and `watches`. Below: `link`. A call may go to any engine first; one that
doesn't own the session does nothing and names the owner, who is then asked, and remembered.
Failures are `AioRpcError`, which `errors` translates.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import grpc
from grpc.aio import AioRpcError, Metadata, UnaryUnaryMultiCallable

from brain.edge.link import Link, Request, Response
from brain.edge.settings import EdgeSettings

if TYPE_CHECKING:  # a class of the type stubs only
    from brainapi.session.v1.session_service_pb2_grpc import SessionServiceAsyncStub

OWNER_KEY = "brain-owner"
_MOST_TRIES = 4
_MOST_OWNERS = 10_000


class EngineClient:
    """Calls engines. Made inside a running event loop, closed with `close`."""

    def __init__(self, settings: EdgeSettings) -> None:
        key = settings.engine_key
        self._metadata = Metadata(("authorization", f"Bearer {key}")) if key else Metadata()
        self._tls = settings.engine_tls
        self._timeout = settings.rpc_timeout_seconds
        self._links: dict[str, Link] = {}
        self._entries = [self.link(target) for target in settings.engine_targets]
        self._turn = 0
        self._owners: dict[str, str] = {}

    def entry(self) -> Link:
        """An engine to begin with: they take turns, as far as they are there."""
        if len(self._entries) > 1:
            self._turn = (self._turn + 1) % len(self._entries)
            order = self._entries[self._turn :] + self._entries[: self._turn]
            return next((link for link in order if link.connected), order[0])
        return self._entries[0]

    def link(self, target: str) -> Link:
        """The engine at an address."""
        link = self._links.pop(target, None) or Link(target, self._metadata, self._tls)
        self._links[target] = link  # the last one is the one that was used last
        return link

    async def call(
        self,
        method: "Callable[[SessionServiceAsyncStub], UnaryUnaryMultiCallable[Request, Response]]",
        request: Request,
        timeout: float | None = None,
    ) -> Response:
        """The answer to one rpc, by the session's owner. Raises: AioRpcError."""
        deadline = self._timeout if timeout is None else timeout
        session_id: str = getattr(request, "session_id", "")
        owner = self._owners.get(session_id)
        link = self.entry() if owner is None else self.link(owner)
        for tries_left in reversed(range(_MOST_TRIES)):
            was_connected = link.connected
            try:
                return await link.call(method(link.stub), request, deadline)
            except AioRpcError as error:
                other = self._after(error, session_id, link, was_connected=was_connected)
                if other is None or not tries_left:
                    raise
                link = other
        raise AssertionError("the last try returns or raises")

    async def serving(self) -> bool:
        """Whether an engine says that it can do its work."""
        for _ in self._entries:
            try:
                if await self.entry().serving(self._timeout):
                    return True
            except AioRpcError:
                continue
        return False

    async def close(self) -> None:
        """Let go of all channels; calls that run end with them."""
        for link in self._links.values():
            await link.close()

    def _after(
        self, error: AioRpcError, session_id: str, link: Link, *, was_connected: bool
    ) -> Link | None:
        """Who else is to be asked, where it is sure that nothing was done."""
        if error.code() is not grpc.StatusCode.UNAVAILABLE:
            return None
        owner = owner_in(error)
        if owner is not None:
            self._remember(session_id, owner)
            return self.link(owner)
        self._owners.pop(session_id, None)
        if was_connected or link.connected:
            return None  # it may have been done
        other = self.entry()
        return None if other is link else other

    def _remember(self, session_id: str, owner: str) -> None:
        self._owners[session_id] = owner
        if len(self._owners) > _MOST_OWNERS:
            del self._owners[next(iter(self._owners))]


def owner_in(error: AioRpcError) -> str | None:
    """The owner that an engine names which isn't it."""
    value = (error.trailing_metadata() or Metadata()).get(OWNER_KEY)
    return value if isinstance(value, str) and value else None
