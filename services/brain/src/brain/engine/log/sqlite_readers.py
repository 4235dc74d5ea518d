"""Reads, in threads of their own: they wait for nothing that is written. Above: `sqlite`."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import TypeVar

import msgspec

from brain.engine.log.protocol import LogUnavailable

_T = TypeVar("_T")
Read = Callable[[sqlite3.Connection], _T]
"""Reads the log as it is at one moment."""


class Readers:
    """Owns the reading connections until it is closed."""

    def __init__(self, connections: Sequence[sqlite3.Connection]) -> None:
        self._threads = ThreadPoolExecutor(len(connections), thread_name_prefix="brain-log-reader")
        self._idle: SimpleQueue[sqlite3.Connection] = SimpleQueue()
        for connection in connections:
            self._idle.put(connection)
        self._closed = False

    async def run(self, read: Read[_T]) -> _T:
        """Raises: LogUnavailable."""
        if self._closed:
            raise LogUnavailable("The log is closed.")
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._run, read)

    async def close(self) -> None:
        """Finish the reads that have begun. The connections are the caller's again."""
        self._closed = True
        await asyncio.to_thread(self._threads.shutdown)

    def _run(self, read: Read[_T]) -> _T:
        connection = self._idle.get()
        try:
            return read(connection)
        except (sqlite3.Error, msgspec.DecodeError) as error:
            raise LogUnavailable(f"The log can't be read: {error}.") from error
        finally:
            self._idle.put(connection)
