"""What goes wrong next at a stand-in. Above: the stand-ins, and tests. Below: nothing of ours."""

import asyncio
from typing import Literal

from msgspec import Struct

Operation = Literal["create", "find", "look", "end", "execute", "upload"]
Kind = Literal[
    "auth", "rate_limit", "quota", "capacity", "invalid", "error", "lost_answer", "cut", "slow"
]
"""How a request fails.

The first five are refusals, worded as the provider words them. `error` is a server error before
anything was done. `lost_answer` is one, too, but the request was carried out. `cut` ends the
connection: of an `execute` after its first output, of anything else when it was carried out. `slow`
holds the request until `Faults.release`.
"""


class _Fault(Struct):
    kind: Kind
    times: int


class Faults:
    """`faults.set("create", "rate_limit")` lets every create fail so, `times=1` only the next."""

    def __init__(self) -> None:
        self._set: dict[Operation, _Fault] = {}
        self._released = asyncio.Event()
        self._reached = asyncio.Event()

    def set(self, operation: Operation, kind: Kind, times: int = 1_000_000) -> None:
        """Let what follows fail."""
        self._set[operation] = _Fault(kind, times)

    def clear(self) -> None:
        """Let all go well again."""
        self._set.clear()

    def release(self) -> None:
        """Let what is held go on, now and later."""
        self._released.set()

    async def reached(self) -> None:
        """Wait until a request is held."""
        await self._reached.wait()

    async def take(self, operation: Operation) -> Kind | None:
        """How this request fails, if it does. One that is held waits here and then goes well."""
        fault = self._set.get(operation)
        if fault is None or not fault.times:
            return None
        fault.times -= 1
        if fault.kind != "slow":
            return fault.kind
        self._reached.set()
        await self._released.wait()
        return None
