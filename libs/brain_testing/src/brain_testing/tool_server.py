"""A tool service that does exactly what its script says, byte for byte.

Above: tests of tool calls. Below: `raw_script` (what it does), `raw_request` (what it received).
It listens on a real socket and knows just enough of HTTP to find a request's end.
"""

import asyncio
import socket
import ssl
import struct
from collections import Counter
from types import TracebackType
from typing import Self

from brain_testing.raw_request import RawRequest
from brain_testing.raw_script import (
    Choose,
    Close,
    Flood,
    Gate,
    Reach,
    Read,
    Reset,
    Script,
    Send,
    Step,
    UntilGone,
)
from brain_testing.raw_signals import Signals

_GONE = "the client has gone"
_CLOSED = "the connection is closed"


class ToolServer:
    """`async with ToolServer(*steps) as server:`; each request plays the script once.

    `requests` are those of which at least the headers were read; `drained` counts the bytes that
    scripts' `UntilGone` read from connections that have ended.
    """

    def __init__(self, *script: Step, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[RawRequest] = []
        self.connections = 0
        self._script: Script = script
        self._by_path: dict[str, Script] = {}
        self._tls = tls
        self._signals = Signals()
        self.drained = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._accepted, "127.0.0.1", 0, ssl=self._tls, limit=2**16
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.hang_up()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        assert self._server is not None
        return self._server.sockets[0].getsockname()[1]

    def url(self, path: str = "/tools/test", host: str = "127.0.0.1") -> str:
        """Where a binding finds this server."""
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    def plays(self, *script: Step, path: str | None = None) -> None:
        """From now on requests play this script: all of them, or those for one path."""
        if path is None:
            self._script = script
        else:
            self._by_path[path] = script

    def counts(self) -> Counter[str]:
        """How often each call arrived, whole."""
        return Counter(request.call_id for request in self.requests if request.complete)

    def hang_up(self) -> None:
        """End all connections as they stand."""
        for task in tuple(self._tasks):
            task.cancel()

    def open(self, gate: str) -> None:
        """Let every script that waits at this gate, now or later, go on."""
        self._signals.gate(gate).set()

    async def reached(self, name: str) -> None:
        """Wait until a script has reached this point, once more than waited for before."""
        await self._signals.wait_for(name)

    async def gone(self) -> None:
        """Wait until a client has gone from a script's `UntilGone`, once more than before."""
        await self._signals.wait_for(_GONE)

    async def closed(self) -> None:
        """Wait until a connection has ended on this side, once more than before."""
        await self._signals.wait_for(_CLOSED)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection(self.connections, self.requests, self._signals, reader, writer)
        self.connections += 1
        task = asyncio.create_task(self._play(connection, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _play(self, connection: "_Connection", writer: asyncio.StreamWriter) -> None:
        try:
            while await connection.play(self._script, self._by_path):
                # Which script comes next is decided when the next request does.
                await connection.wait_for_more()
        except OSError:
            pass
        finally:
            writer.transport.abort()
            self.drained += connection.drained
            self._signals.reach(_CLOSED)


class _Connection:
    """One connection, and the request that is being answered on it."""

    def __init__(
        self,
        number: int,
        received: list[RawRequest],
        signals: Signals,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._number = number
        self._received = received
        self._signals = signals
        self._reader = reader
        self._writer = writer
        self._request = RawRequest(number)
        self._ahead = b""
        self.drained = 0
        sock: socket.socket = writer.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def wait_for_more(self) -> None:
        """Wait for the next request on this connection, or for its end."""
        self._ahead = await self._reader.read(1)

    async def play(self, script: Script, by_path: dict[str, Script]) -> bool:
        """Answer one request. False if the connection is of no more use."""
        self._request = RawRequest(self._number)
        if by_path:
            if not await self._read_head():
                return False
            script = by_path.get(self._request.path, script)
        return await self._play(script) and Read() in script

    async def _play(self, script: Script) -> bool:
        for step in script:
            if not await self._take(step):
                return False
        return True

    async def _take(self, step: Step) -> bool:
        match step:
            case Read(head_only):
                return await self._read_head() and (head_only or await self._read_body())
            case Choose(chosen):
                return await self._play(chosen(self._request))
            case Send(data, piece):
                await self._send(data, piece)
            case Flood(data, times):
                await self._flood(data, times)
            case Reach(name):
                self._signals.reach(name)
            case Gate(name):
                self._signals.reach(name)
                await self._signals.gate(name).wait()
            case _:
                await self._end(step)
                return False
        return True

    async def _end(self, step: UntilGone | Close | Reset) -> None:
        if isinstance(step, UntilGone):
            try:
                while chunk := await self._reader.read(65536):
                    self.drained += len(chunk)
            except OSError:
                pass
            self._signals.reach(_GONE)
        elif isinstance(step, Close):
            self._writer.close()
            await self._writer.wait_closed()
        else:
            sock: socket.socket = self._writer.get_extra_info("socket")
            # Closing with a linger time of 0 sends RST.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._writer.transport.abort()

    async def _read_head(self) -> bool:
        if self._request.head:
            return True
        try:
            self._request.set_head(self._ahead + await self._reader.readuntil(b"\r\n\r\n"))
        except asyncio.IncompleteReadError:
            return False
        self._received.append(self._request)
        return True

    async def _read_body(self) -> bool:
        length = int(self._request.header("Content-Length") or 0)
        try:
            self._request.body = await self._reader.readexactly(length)
        except asyncio.IncompleteReadError as error:
            self._request.body = error.partial
            return False
        self._request.complete = True
        return True

    async def _send(self, data: bytes, piece: int | None) -> None:
        for start in range(0, len(data), piece or len(data) or 1):
            self._writer.write(data[start : start + piece] if piece else data)
            await self._writer.drain()
            # Gives a client in the same loop the time to read each piece by itself.
            await asyncio.sleep(0)

    async def _flood(self, data: bytes, times: int | None) -> None:
        sent = 0
        while times is None or sent < times:
            self._writer.write(data)
            await self._writer.drain()
            sent += 1
