"""Bytes to and from one peer, over TCP or TLS. Above: `http_connection`, `http_response`.

Like asyncio's streams, but what has come unasked can be seen, and the end is at once.
"""

import asyncio
import socket
import ssl
from contextlib import suppress
from typing import cast

_HIGH_WATER = 64 * 1024
_LOW_WATER = 16 * 1024


class Wire(asyncio.Protocol):
    """One connection. It takes in no more than about 64 KiB that nobody has read yet."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._ended = False
        self._error: Exception | None = None
        self._paused = False
        self._waiter: asyncio.Future[None] | None = None

    @classmethod
    async def over(
        cls, sock: socket.socket, tls: ssl.SSLContext | None, server_hostname: str
    ) -> "Wire":
        """A wire over a connected socket. Raises `OSError`, with the socket closed."""
        try:
            _, wire = await asyncio.get_running_loop().create_connection(
                cls, sock=sock, ssl=tls, server_hostname=server_hostname if tls else None
            )
        except BaseException:
            sock.close()
            raise
        return wire

    async def start_tls(self, tls: ssl.SSLContext, server_hostname: str) -> None:
        """Go on with TLS. Raises `OSError`."""
        assert self._transport is not None
        plain = self._transport
        try:
            self._transport = await asyncio.get_running_loop().start_tls(
                plain, self, tls, server_hostname=server_hostname
            )
        except BaseException:
            plain.abort()
            raise

    def write(self, data: bytes) -> None:
        """Send, as fast as the peer takes it."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    @property
    def written(self) -> bool:
        """Whether everything was handed to the system."""
        return self._transport is not None and self._transport.get_write_buffer_size() == 0

    @property
    def fresh(self) -> bool:
        """Whether the peer is there and has said nothing unasked."""
        closing = self._transport is None or self._transport.is_closing()
        return not (closing or self._ended or self._received)

    async def read(self, most: int) -> bytes:
        """Some bytes, or none at the end. Raises `OSError` if the connection broke."""
        while not self._received:
            if self._error is not None:
                raise ConnectionError from self._error
            if self._ended:
                return b""
            await self._more()
        data = bytes(self._received[:most])
        del self._received[:most]
        if self._paused and len(self._received) <= _LOW_WATER:
            self._paused = False
            self._receive(going=True)
        return data

    def drop(self) -> None:
        """End the connection at once, whatever is still to be written."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are none of asyncio's classes.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._wake()
        if not self._paused and len(self._received) >= _HIGH_WATER:
            self._paused = True
            self._receive(going=False)

    def eof_received(self) -> bool:
        self._ended = True
        self._wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._error = exc
        self._wake()

    async def _more(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _receive(self, *, going: bool) -> None:
        if self._transport is None:
            return
        with suppress(RuntimeError):  # it is closing: nothing more will come
            if going:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()
