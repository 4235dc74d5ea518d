"""One process of a Brain that is killed, stopped and started again. Above: `world`.

A process that ended, however, is started again after a moment, as an operator's tools would. It is
forked from a server that has imported everything: importing would take most of a run's time.
"""

import asyncio
import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from random import Random

KEY = "a-key-of-the-drivers-only"
ENV = {"DRIVER_KEY": KEY, "DRIVER_ENGINE_KEY": KEY}
_PRELOADED = ["brain_testing.chaos.engine", "brain.cli.serve", "brain.edge.app", "uvicorn"]
_EXPECTED = {0, -signal.SIGKILL, -signal.SIGTERM}
_RESTART_SECONDS = 0.4
_END_SECONDS = 20

Work = Callable[[Sequence[str]], object]


class Process:
    """One process and its successors. `work` is a function of a module, with its arguments.

    If `away_seconds` is set, it isn't started again for so long the next time.
    """

    excused: frozenset[int] = frozenset()
    """Exit codes that are nothing to wonder at, beside the usual ones."""

    def __init__(
        self, name: str, work: Work, arguments: Sequence[str], folder: Path, rng: Random
    ) -> None:
        self.name = name
        self.starts = 0
        self.away_seconds: float | None = None
        self.unexpected: list[str] = []
        self._work = work
        self._arguments = arguments
        self._log = folder / f"{name}.log"
        self._rng = rng
        self._process: ForkServerProcess | None = None
        self._keeper: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.is_alive()

    def start(self) -> None:
        """Start it, and start it again whenever it has ended."""
        self._keeper = asyncio.create_task(self._keep())

    def send(self, number: signal.Signals) -> bool:
        """Send it a signal, if it runs."""
        process = self._process
        if process is None or process.pid is None or not process.is_alive():
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)
            return True
        return False

    async def end(self) -> None:
        """End it for good."""
        if self._keeper is not None:
            self._keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeper
        if self._process is None or not self._process.is_alive():
            return
        self.send(signal.SIGTERM)
        try:
            async with asyncio.timeout(_END_SECONDS):
                await _ended(self._process)
        except TimeoutError:
            self.send(signal.SIGKILL)
            self.unexpected.append(f"{self.name} did not end on SIGTERM")
        self._process.join()

    async def _keep(self) -> None:
        while True:
            self.starts += 1
            self._process = _context().Process(
                target=_run, args=(self._work, self._arguments, str(self._log)), name=self.name
            )
            self._process.start()
            await _ended(self._process)
            self._process.join()
            code = self._process.exitcode
            if code not in _EXPECTED | self.excused:
                self.unexpected.append(f"{self.name} ended by itself with {code}")
            away, self.away_seconds = self.away_seconds, None
            await asyncio.sleep(away or self._rng.uniform(0, _RESTART_SECONDS))


def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


async def _ended(process: ForkServerProcess) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(process.sentinel, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(process.sentinel)


def _run(work: Work, arguments: Sequence[str], log: str) -> None:
    """In the process: its output goes to a file, and it doesn't outlive whoever started it."""
    with open(log, "ab", buffering=0) as file:  # noqa: PTH123 - a descriptor is all that is wanted
        os.dup2(file.fileno(), sys.stdout.fileno())
        os.dup2(file.fileno(), sys.stderr.fileno())
    os.environ.update(ENV)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    work(arguments)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
