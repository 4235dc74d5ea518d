"""The thread that writes: it commits whatever has gathered, all at once. Above: `sqlite`.

A commit waits for the disk once, however many appends are in it. An operation that finds it is
stale changes nothing and fails alone; if the commit fails, all of it failed.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

from msgspec import Struct

from brain.engine.log.protocol import LogUnavailable, StaleOwner

_T = TypeVar("_T")
Operation = Callable[[sqlite3.Connection], _T]
"""Writes within a transaction that others share. Raises `StaleOwner` before it changes anything."""


class _Job(Struct):
    operation: Operation[Any]
    future: "asyncio.Future[Any]"
    result: object = None
    error: Exception | None = None


class Writer:
    """Owns the writing connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._jobs: list[_Job] = []
        self._wake = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="brain-log-writer", daemon=True)
        self._thread.start()

    def submit(self, operation: Operation[_T]) -> "asyncio.Future[_T]":
        """Take a place in the order of writes, now. The result arrives once it is on disk."""
        future: asyncio.Future[_T] = self._loop.create_future()
        with self._wake:
            if self._closing:
                future.set_exception(LogUnavailable("The log is closed."))
                return future
            self._jobs.append(_Job(operation, cast("asyncio.Future[Any]", future)))
            self._wake.notify()
        return future

    async def close(self) -> None:
        """Write what was asked for, then stop."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        await asyncio.to_thread(self._thread.join)
        await asyncio.sleep(0)  # the last results are on their way to the loop
        self._connection.close()

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._jobs and not self._closing:
                    self._wake.wait()
                jobs, self._jobs = self._jobs, []
                if not jobs:
                    return
            self._commit(jobs)
            self._loop.call_soon_threadsafe(_resolve, jobs)

    def _commit(self, jobs: list[_Job]) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for job in jobs:
                try:
                    job.result = job.operation(self._connection)
                except StaleOwner as error:
                    job.error = error
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            for job in jobs:
                job.error = LogUnavailable(f"The log can't be written: {error}.")

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


def _resolve(jobs: list[_Job]) -> None:
    for job in jobs:
        if job.future.done():
            continue  # whoever waited went away; the write stands all the same
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
