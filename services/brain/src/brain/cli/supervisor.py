"""Several processes as one: all start, all are ready, all stop. Above: `serve`, `up`.

One that stops by itself takes the others with it: what restarts a server is the operator's own
tool, and it must see that something is wrong.
"""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Sequence

from brain.cli.children import Child, Failed, Running, end_group
from brain.cli.output import Output, readable

_GRACE_SECONDS = 30.0
_LAST_WORDS_SECONDS = 2.0


class Supervisor:
    """Runs children until a signal comes or one of them stops.

    Once all are ready, `welcome` gives what to print. A child that is told to stop has
    `grace_seconds` for it; a second Ctrl-C ends all of them at once.
    """

    def __init__(
        self,
        children: Sequence[Child],
        welcome: Callable[[], str],
        grace_seconds: float = _GRACE_SECONDS,
    ) -> None:
        self._children = children
        self._welcome = welcome
        self._grace = grace_seconds
        self._output = Output([child.name for child in children])
        self._running: dict[str, Running] = {}
        self._readers: dict[str, asyncio.Task[None]] = {}
        self._last_words: dict[str, str] = {}
        self._stop = asyncio.Event()
        self._hurry = asyncio.Event()

    async def run(self) -> int:
        """Run; gives the exit code."""
        self._listen_to_signals()
        failed = next(filter(None, (child.in_the_way() for child in self._children)), None)
        if failed is None:
            try:
                failed = await self._start_all() or await self._run_until_stopped()
            finally:
                await self._stop_all()
        if failed is not None:
            print(failed, file=sys.stderr, flush=True)
        return 0 if failed is None else 1

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._on_ctrl_c)
        loop.add_signal_handler(signal.SIGTERM, self._stop.set)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # `nohup` has its way
            loop.add_signal_handler(signal.SIGHUP, self._stop.set)

    def _on_ctrl_c(self) -> None:
        if self._stop.is_set():
            self._hurry.set()
        self._stop.set()

    async def _start_all(self) -> Failed | None:
        for child in self._children:
            try:
                running = await child.start()
            except OSError as error:
                return Failed(child.name, f"can't be started: {error.strerror or error}.")
            self._running[child.name] = running
            self._readers[child.name] = asyncio.create_task(self._read(child.name, running.output))
        return None

    async def _run_until_stopped(self) -> Failed | None:
        stopped = asyncio.create_task(self._stop.wait())
        died = asyncio.create_task(self._first_to_die())
        ready = asyncio.create_task(self._all_ready())
        try:
            await asyncio.wait({stopped, died, ready}, return_when=asyncio.FIRST_COMPLETED)
            if ready.done() and not died.done():
                late = ready.result()
                if late is not None:
                    return late
                self._output.say(self._welcome())
                await asyncio.wait({stopped, died}, return_when=asyncio.FIRST_COMPLETED)
            return None if stopped.done() else died.result()
        finally:
            for task in (stopped, died, ready):
                task.cancel()

    async def _all_ready(self) -> Failed | None:
        for child in self._children:
            late = await child.ready()
            if late is not None:
                return late
        return None

    async def _first_to_die(self) -> Failed:
        waits = {
            asyncio.create_task(running.process.wait()): name
            for name, running in self._running.items()
        }
        done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        name = waits[done.pop()]
        await self._finish(name)
        how = _how_it_ended(self._running[name].process.returncode)
        words = self._last_words.get(name, "").removeprefix(f"brain: {name}: ")
        return Failed(name, f"stopped by itself ({how}). {words}".rstrip())

    async def _read(self, name: str, output: asyncio.StreamReader) -> None:
        while True:
            try:
                raw = await output.readline()
            except ValueError:
                continue  # a line that is absurdly long is left out
            if not raw:
                return
            line = raw.decode(errors="replace").rstrip()
            if line:
                self._last_words[name] = readable(line).split("\n")[-1]
            self._output.line(name, line)

    async def _stop_all(self) -> None:
        for name, running in reversed(self._running.items()):
            with contextlib.suppress(ProcessLookupError):
                running.process.terminate()
            ended = asyncio.create_task(running.process.wait())
            hurry = asyncio.create_task(self._hurry.wait())
            await asyncio.wait(
                {ended, hurry}, timeout=self._grace, return_when=asyncio.FIRST_COMPLETED
            )
            hurry.cancel()
            end_group(running.process.pid)
            await ended
            await self._finish(name)

    async def _finish(self, name: str) -> None:
        """Leave nothing of an ended child behind, and read what it said last."""
        end_group(self._running[name].process.pid)
        # Something that left the group may hold its output open: no reason to wait for ever.
        await asyncio.wait({self._readers[name]}, timeout=_LAST_WORDS_SECONDS)
        self._readers[name].cancel()
        self._running[name].pipe.close()


def _how_it_ended(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exit code {code}"
    names = {number.value: number.name for number in signal.Signals}
    return f"killed by {names.get(-code, f'signal {-code}')}"
