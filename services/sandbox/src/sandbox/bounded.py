"""A provider whose every answer comes in time. Above: `service`. Below: `provider`.

A provider's SDK may wait for minutes, or repeat a request until it does. Here a call that takes too
long is cancelled, and what came of it isn't known.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from msgspec import Struct

from sandbox.provider import Key, Lost, Output, Provider


class Deadlines(Struct, frozen=True):
    """Seconds for each kind of call. A process with a name has a deadline from who runs it."""

    create: float = 180.0
    look: float = 30.0
    end: float = 60.0
    script: float = 60.0
    kill: float = 30.0


class Bounded:
    """Passes each call on, with a deadline. Raises: Lost, when it passed."""

    def __init__(self, provider: Provider, deadlines: Deadlines | None = None) -> None:
        self._provider = provider
        self._deadlines = deadlines or Deadlines()
        self.workspace = provider.workspace

    async def find(self, key: Key) -> str | None:
        async with _within(self._deadlines.look, "find"):
            return await self._provider.find(key)

    async def create(self, key: Key) -> str:
        async with _within(self._deadlines.create, "create"):
            return await self._provider.create(key)

    async def alive(self, sandbox: str) -> bool:
        async with _within(self._deadlines.look, "alive"):
            return await self._provider.alive(sandbox)

    async def end(self, sandbox: str) -> None:
        async with _within(self._deadlines.end, "end"):
            await self._provider.end(sandbox)

    async def execute(self, sandbox: str, script: str, output: Output, name: str = "") -> int:
        async with _within(None if name else self._deadlines.script, "execute"):
            return await self._provider.execute(sandbox, script, output, name)

    async def upload(self, sandbox: str, path: str, data: bytes) -> None:
        async with _within(self._deadlines.script, "upload"):
            await self._provider.upload(sandbox, path, data)

    async def spawn(self, sandbox: str, name: str, script: str) -> None:
        async with _within(self._deadlines.script, "spawn"):
            await self._provider.spawn(sandbox, name, script)

    async def kill(self, sandbox: str, name: str) -> None:
        async with _within(self._deadlines.kill, "kill"):
            await self._provider.kill(sandbox, name)


@asynccontextmanager
async def _within(seconds: float | None, what: str) -> AsyncGenerator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise Lost(f"{what} took longer than {seconds} s") from error
