"""Worker processes for checks that could block others. Above: `checker`. Below: `check_worker`.

A worker is started when it is first needed, kept for the next job, and killed when a job takes
too long. Jobs of one key run one at a time, so a tool with a hostile schema delays itself, and
the other workers stay free.
"""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections import defaultdict

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
        self._ending: set[asyncio.Task[None]] = set()

    async def perform(self, key: str, job: Job) -> Checked | None:
        """Do a job, after the others of this key. None if it took too long or too much."""
        async with self._turns[key], self._slots:
            worker = self._idle.pop() if self._idle else await _Worker.start()
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
        while self._idle:
            self._put_back(self._idle.pop(), usable=False)
        if self._ending:
            await asyncio.wait(self._ending)

    def _put_back(self, worker: "_Worker", *, usable: bool) -> None:
        if usable:
            self._idle.append(worker)
            return
        ending = asyncio.create_task(worker.end())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)


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
