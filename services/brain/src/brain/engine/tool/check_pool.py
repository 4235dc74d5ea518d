"""Worker processes for checks that could block others. Above: `checker`. Below: `check_worker`.

A worker is started when it is first needed, kept for the next job, and killed when a job takes
too long. Jobs of one key run one at a time, so a tool with a hostile schema delays itself, and
the other workers stay free.
"""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections import defaultdict
from collections.abc import Coroutine
from typing import Any

import msgspec

from brain.engine.tool.checks import Checked, Job

MAX_WORKERS = 4

_COMMAND = (sys.executable, "-m", "brain.engine.tool.check_worker")

_answer_decoder = msgspec.json.Decoder(Checked)


class CheckPool:
    """Does jobs in other processes. Use it in one event loop."""

    def __init__(self, seconds: float) -> None:
        """A job may take this long."""
        self._seconds = seconds
        self._slots = asyncio.Semaphore(MAX_WORKERS)
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._idle: list[_Worker] = []
        self._unfinished: set[asyncio.Task[None]] = set()

    async def perform(self, key: str, job: Job) -> Checked | None:
        """Do a job, after the others of this key. None if it took too long or too much."""
        async with self._turns[key], self._slots:
            worker = await self._worker()
            finished = False
            try:
                async with asyncio.timeout(self._seconds):
                    answer = await worker.perform(job)
                finished = True
                return answer
            except (TimeoutError, OSError, asyncio.IncompleteReadError):
                return None
            finally:
                self._put_back(worker, usable=finished)

    async def aclose(self) -> None:
        """End all workers."""
        await self._settle()
        while self._idle:
            self._put_back(self._idle.pop(), usable=False)
        await self._settle()

    async def _worker(self) -> "_Worker":
        if self._idle:
            return self._idle.pop()
        starting = asyncio.create_task(_Worker.start())
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            # A process that is half started can't be stopped: it will do for the next job.
            self._aside(self._adopt(starting))
            raise

    async def _adopt(self, starting: "asyncio.Task[_Worker]") -> None:
        self._put_back(await starting, usable=True)

    def _put_back(self, worker: "_Worker", *, usable: bool) -> None:
        if usable:
            self._idle.append(worker)
            return
        self._aside(worker.end())

    def _aside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._unfinished.add(task)
        task.add_done_callback(self._unfinished.discard)

    async def _settle(self) -> None:
        while self._unfinished:
            await asyncio.wait(self._unfinished)


class _Worker:
    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._jobs = process.stdin
        self._answers = process.stdout

    @classmethod
    async def start(cls) -> "_Worker":
        return cls(await asyncio.create_subprocess_exec(*_COMMAND, stdin=PIPE, stdout=PIPE))

    async def perform(self, job: Job) -> Checked:
        data = msgspec.msgpack.encode(job)
        self._jobs.write(len(data).to_bytes(4) + data)
        await self._jobs.drain()
        length = int.from_bytes(await self._answers.readexactly(4))
        return _answer_decoder.decode(await self._answers.readexactly(length))

    async def end(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        self._jobs.close()
        await self._process.wait()
