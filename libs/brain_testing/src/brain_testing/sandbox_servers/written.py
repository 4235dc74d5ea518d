"""Takes what a script in a sandbox writes. Above: tests. Below: the sandbox service's types."""

import asyncio

from sandbox.provider import Stream


class Written:
    """An `Output` that keeps all of it, and says once when it has begun."""

    def __init__(self) -> None:
        self.stdout = b""
        self.stderr = b""
        self._began = asyncio.Event()

    async def __call__(self, stream: Stream, piece: bytes) -> None:
        if stream == "stdout":
            self.stdout += piece
        else:
            self.stderr += piece
        self._began.set()

    async def began(self) -> None:
        """Wait for the first output."""
        await self._began.wait()
