"""What the stand-ins have in common, and each by its name. Above: tests. Below: the stand-ins."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from brain_testing.sandbox_servers.daytona import daytona_server
from brain_testing.sandbox_servers.e2b import e2b_server
from brain_testing.sandbox_servers.faults import Faults
from brain_testing.sandbox_servers.modal import modal_server


class StandIn(Protocol):
    """A provider of one's own.

    `env` are the variables that point its SDK here, `key` is a secret among them. `sandboxes` are
    those that live, by id; `created` is what each create that was carried out asked for.
    """

    @property
    def key(self) -> str: ...

    @property
    def env(self) -> Mapping[str, str]: ...

    @property
    def faults(self) -> Faults: ...

    @property
    def sandboxes(self) -> Mapping[str, Any]: ...

    @property
    def created(self) -> list[Any]: ...

    async def lose(self, sandbox: str) -> None:
        """End a sandbox, as the provider does by itself."""
        ...


STAND_INS: Mapping[str, Callable[[], AbstractAsyncContextManager[StandIn]]] = {
    "e2b": e2b_server,
    "modal": modal_server,
    "daytona": daytona_server,
}
