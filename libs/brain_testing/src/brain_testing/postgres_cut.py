"""A way to Postgres that can be cut at any moment. Below: `postgres`.

It listens on a Unix socket as Postgres does, and passes everything on to the server's own.
"""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from brain_testing.postgres import PostgresServer


class Cut:
    """The way. `folder` is that of the socket, `lost` how many answers were lost on purpose."""

    def __init__(self, server: PostgresServer, folder: Path) -> None:
        self.folder = folder
        self.blocked = False
        self.lost = 0
        self._server = server
        self._lose_answer_to = b""
        self._writers: set[asyncio.StreamWriter] = set()
        self._serving: set[asyncio.Task[None]] = set()

    def lose_the_answer_to(self, words: bytes) -> None:
        """The next connection that sends these words is cut once the server has answered them.

        Nobody is told the answer.
        """
        self._lose_answer_to = words

    def cut(self) -> None:
        """Cut every connection that there is."""
        for writer in tuple(self._writers):
            writer.transport.abort()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take a connection."""
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def close(self) -> None:
        """Cut every connection, and wait until it is gone."""
        self.cut()
        if self._serving:
            await asyncio.wait(self._serving)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass a connection on until either side ends it."""
        if self.blocked:
            await _close(writer)
            return
        async with AsyncExitStack() as stack:
            stack.push_async_callback(_close, writer)
            onward = await asyncio.open_unix_connection(self._server.socket)
            stack.push_async_callback(_close, onward[1])
            for each in (writer, onward[1]):
                self._writers.add(each)
                stack.callback(self._writers.discard, each)
            losing = asyncio.Event()
            passing = [
                asyncio.create_task(self._pass(reader, onward[1], losing, asked=True)),
                asyncio.create_task(self._pass(onward[0], writer, losing, asked=False)),
            ]
            await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
            for task in passing:
                task.cancel()
            await asyncio.wait(passing)

    async def _pass(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        losing: asyncio.Event,
        *,
        asked: bool,
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                if asked and self._lose_answer_to and self._lose_answer_to in data:
                    self._lose_answer_to = b""
                    losing.set()
                elif not asked and losing.is_set():
                    self.lost += 1
                    return
                writer.write(data)
                await writer.drain()


@asynccontextmanager
async def cut_before(server: PostgresServer) -> AsyncGenerator[Cut]:
    """A way to a server, while the block runs."""
    with tempfile.TemporaryDirectory(prefix="brain-cut-") as name:
        way = Cut(server, Path(name))
        listening = await asyncio.start_unix_server(way.accept, Path(name) / server.socket.name)
        try:
            yield way
        finally:
            listening.close()
            await way.close()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()
    with suppress(OSError):
        await writer.wait_closed()
