"""Connections to Postgres, made anew when they are lost. Above: the Postgres log. Below: `asyncpg`.

Statements are prepared once for each connection, by name; PgBouncer in transaction mode passes
that on since 1.21, with its `max_prepared_statements`. Nothing else is kept in a connection.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import asyncpg

from brain.engine.log.postgres_errors import FAILED, LOST, unavailable
from brain.engine.log.protocol import LogUnavailable

CONNECT_SECONDS = 5.0
COMMAND_SECONDS = 15.0
"""A statement that takes longer is cancelled."""

Row = Sequence[Any]
"""Columns, in the order of the query."""


class Connection(Protocol):
    """What is used of the driver's connections. Each method raises one of `FAILED`."""

    async def execute(self, query: str, *values: object, timeout: float | None = None) -> str: ...

    async def fetch(
        self, query: str, *values: object, timeout: float | None = None
    ) -> Sequence[Row]: ...

    async def fetchrow(
        self, query: str, *values: object, timeout: float | None = None
    ) -> Row | None: ...

    async def fetchval(
        self, query: str, *values: object, timeout: float | None = None
    ) -> Any | None: ...

    def transaction(self) -> AbstractAsyncContextManager[object]: ...

    def get_settings(self) -> Any: ...

    def is_closed(self) -> bool: ...

    def terminate(self) -> None: ...

    async def close(self, *, timeout: float | None = None) -> None: ...


async def connect(url: str) -> Connection:
    """One connection to a server that can be written to. Raises one of `FAILED`."""
    driver: Any = asyncpg
    return await driver.connect(
        url,
        timeout=CONNECT_SECONDS,
        command_timeout=COMMAND_SECONDS,
        target_session_attrs="read-write",
        statement_cache_size=100,
        max_cached_statement_lifetime=0,
    )


class Line:
    """One connection for one user at a time, who may have it made anew."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: Connection | None = None

    async def connection(self) -> Connection:
        """The connection. Raises one of `FAILED`."""
        if self._connection is None or self._connection.is_closed():
            self._connection = await connect(self._url)
        return self._connection

    def drop(self) -> None:
        """Never use this connection again."""
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def close(self) -> None:
        """Say goodbye to the server."""
        if self._connection is not None:
            try:
                await self._connection.close(timeout=CONNECT_SECONDS)
            except FAILED:
                self.drop()


class Readers:
    """Some connections for reading, for as many at once as there are."""

    def __init__(self, url: str, count: int) -> None:
        self._lines = [Line(url) for _ in range(count)]
        self._free: asyncio.LifoQueue[Line] = asyncio.LifoQueue()
        for line in self._lines:
            self._free.put_nowait(line)
        self._closed = False

    async def fetch(self, query: str, *values: object) -> Sequence[Row]:
        """The rows of a query; asked again over another connection if one is lost.

        Raises: LogUnavailable.
        """
        if self._closed:
            raise LogUnavailable("The log is closed.")
        line = await self._free.get()
        try:
            return await self._fetch(line, query, values)
        except FAILED as error:
            raise unavailable(error) from error
        finally:
            self._free.put_nowait(line)

    async def close(self) -> None:
        """Finish the reads that have begun."""
        self._closed = True
        for _ in self._lines:
            await self._free.get()
        for line in self._lines:
            await line.close()
            self._free.put_nowait(line)

    async def _fetch(self, line: Line, query: str, values: tuple[Any, ...]) -> Sequence[Row]:
        try:
            return await self._ask(line, query, values)
        except TimeoutError:
            raise
        except LOST:
            return await self._ask(line, query, values)

    async def _ask(self, line: Line, query: str, values: tuple[Any, ...]) -> Sequence[Row]:
        connection = await line.connection()
        try:
            return await connection.fetch(query, *values)
        except LOST:
            line.drop()
            raise
