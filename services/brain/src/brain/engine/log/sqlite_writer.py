"""The thread that writes: it commits whatever has gathered, all at once. Above: `sqlite`.

A commit waits for the disk once, however many writes are in it. A write that is stale, or at fault
itself, fails alone and changes nothing; if the commit fails, all of it failed.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar, cast

from msgspec import Struct

from brain.engine.log.protocol import KeyTaken, LogUnavailable, StaleOwner

BUSY_MS = 5000
"""Another program, say a shell that someone opened, may hold the database's write lock so long."""

_TRUNCATE_MS = 100
_T = TypeVar("_T")
Operation = Callable[[sqlite3.Connection], _T]
"""Writes within a transaction that others share. Raises `StaleOwner` or `KeyTaken`
before it changes anything.

It may be called again after a rollback, so it keeps no state of its own.
"""


class _Job(Struct):
    operation: Operation[Any]
    future: "asyncio.Future[Any]"
    session_id: str | None
    synced: bool
    truncate: bool
    result: object = None
    error: Exception | None = None


class Writer:
    """Owns the writing connection until it is closed. Its methods are for the loop's thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._closed = False
        # The rest belongs to the thread.
        self._synced = True
        self._missed: set[str] = set()
        self._thread = Thread(target=self._run, name="brain-log-writer", daemon=True)
        self._thread.start()

    def submit(
        self,
        operation: Operation[_T],
        *,
        session_id: str | None = None,
        synced: bool = True,
        truncate: bool = False,
    ) -> "asyncio.Future[_T]":
        """Take a place in the order of writes, now. The result arrives once it is on disk.

        With `synced` off it is committed but may be lost in a power cut, not in a crash. With
        `truncate` the write-ahead log is emptied into the database before the result arrives.
        Raises: StaleOwner, LogUnavailable.
        """
        future: asyncio.Future[_T] = self._loop.create_future()
        if self._closed:
            future.set_exception(LogUnavailable("The log is closed."))
        else:
            untyped = cast("asyncio.Future[Any]", future)
            self._jobs.put(_Job(operation, untyped, session_id, synced, truncate))
        return future

    async def close(self) -> None:
        """Write what was asked for, then stop. The connection is the caller's again."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        while self._work():
            pass

    def _work(self) -> bool:
        """Write what has gathered; whether more may come."""
        jobs, more = self._gather()
        self._write(jobs)
        if any(job.truncate for job in jobs):
            self._truncate()
        with suppress(RuntimeError):  # the loop is closed: nobody is left who waits
            self._loop.call_soon_threadsafe(_resolve, jobs)
        return more

    def _gather(self) -> tuple[list[_Job], bool]:
        """All that waits, at least one thing; and whether more may come."""
        jobs: list[_Job] = []
        while not jobs or not self._jobs.empty():
            job = self._jobs.get()
            if job is None:
                return jobs, False
            jobs.append(job)
        return jobs, True

    def _write(self, jobs: list[_Job]) -> None:
        """Commit the jobs; when one is at fault, the others are tried again without it."""
        left = jobs
        while left:
            faulty = self._attempt(left)
            left = [job for job in left if job is not faulty] if faulty else []

    def _attempt(self, jobs: list[_Job]) -> _Job | None:
        """Commit the jobs, or fail them all, or change nothing and give the one at fault."""
        current = None
        try:
            self._begin(synced=any(job.synced for job in jobs))
            for current in jobs:
                self._perform(current)
            current = None
            self._connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - whatever it was, someone waits to hear of it
            self._roll_back()
            if current is not None and not isinstance(error, sqlite3.OperationalError):
                self._fail(current, error)
                return current
            for job in jobs:
                self._fail(job, error)
        return None

    def _begin(self, *, synced: bool) -> None:
        if synced != self._synced:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if synced else 'NORMAL'}")
            self._synced = synced
        self._connection.execute("BEGIN IMMEDIATE")

    def _perform(self, job: _Job) -> None:
        job.error = None
        try:
            job.result = job.operation(self._connection)
        except StaleOwner as error:
            # Whoever appended before it is known to have failed has not lost its session.
            missed = job.session_id in self._missed
            job.error = LogUnavailable("An earlier append failed.") if missed else error
        except KeyTaken as error:
            job.error = error
        else:
            self._missed.discard(job.session_id or "")

    def _fail(self, job: _Job, error: Exception) -> None:
        if job.session_id is not None:
            self._missed.add(job.session_id)
        if isinstance(error, sqlite3.Error):
            job.error = LogUnavailable(f"The log can't be written: {error}.")
        else:
            job.error = error

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _truncate(self) -> None:
        """Empty the write-ahead log, if no other program reads from it for long."""
        with suppress(sqlite3.Error):
            self._connection.execute(f"PRAGMA busy_timeout = {_TRUNCATE_MS}")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self._connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")


def _resolve(jobs: list[_Job]) -> None:
    for job in jobs:
        if job.future.done():
            continue  # whoever waited went away; the write stands all the same
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
