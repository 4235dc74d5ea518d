"""Several processes as one: all start, all are ready, all stop. Above: `serve`, `up`.

One that stops by itself takes the others with it: what restarts a server is the operator's own
tool, and it must see that something is wrong.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence

from brain.cli.children import Child, Failed
from brain.cli.output import Output

_READY_SECONDS = 60.0
_GRACE_SECONDS = 30.0


class Supervisor:
    """Runs children until a signal comes or one of them stops."""

    def __init__(
        self,
        children: Sequence[Child],
        on_ready: Callable[[], None],
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._children = children
        self._on_ready = on_ready
        self._env = dict(os.environ) if env is None else env
        self._output = Output([child.name for child in children])
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._last_words: dict[str, str] = {}
        self._readers: dict[str, asyncio.Task[None]] = {}
        self._stop = asyncio.Event()

    async def run(self) -> int:
        """Run; gives the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop.set)
        failed = next(filter(None, (child.port_taken() for child in self._children)), None)
        if failed is None:
            try:
                failed = await self._run_until_stopped()
            finally:
                await self._stop_all()
        if failed is not None:
            print(failed, file=sys.stderr, flush=True)
        return 0 if failed is None else 1

    async def _run_until_stopped(self) -> Failed | None:
        for child in self._children:
            process = await child.start(self._env)
            self._processes[child.name] = process
            self._readers[child.name] = asyncio.create_task(self._read(child.name, process))
        stopped = asyncio.create_task(self._stop.wait())
        died = asyncio.create_task(self._first_to_die())
        ready = asyncio.create_task(self._all_ready())
        try:
            await asyncio.wait({stopped, died, ready}, return_when=asyncio.FIRST_COMPLETED)
            if ready.done():
                late = ready.result()
                if late is not None:
                    return late
                self._on_ready()
                await asyncio.wait({stopped, died}, return_when=asyncio.FIRST_COMPLETED)
            return None if stopped.done() else died.result()
        finally:
            for task in (stopped, died, ready):
                task.cancel()

    async def _all_ready(self) -> Failed | None:
        for child in self._children:
            try:
                async with asyncio.timeout(_READY_SECONDS):
                    await child.ready()
            except TimeoutError:
                return Failed(child.name, f"wasn't ready within {_READY_SECONDS:.0f} seconds.")
        return None

    async def _first_to_die(self) -> Failed:
        waits = {
            asyncio.create_task(process.wait()): name for name, process in self._processes.items()
        }
        done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        name = waits[done.pop()]
        await self._readers[name]  # so that its last words are read
        code = self._processes[name].returncode
        words = self._last_words.get(name, "")
        return Failed(name, f"stopped by itself with exit code {code}. {words}".rstrip())

    async def _read(self, name: str, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while True:
            try:
                raw = await process.stdout.readline()
            except ValueError:
                continue  # a line that is absurdly long is left out
            if not raw:
                return
            line = raw.decode(errors="replace").rstrip()
            self._last_words[name] = line
            self._output.line(name, line)

    async def _stop_all(self) -> None:
        for process in reversed(self._processes.values()):
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            try:
                async with asyncio.timeout(_GRACE_SECONDS):
                    await process.wait()
            except TimeoutError:
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        await asyncio.gather(*self._readers.values())
