"""Times and CPU of one kind of work, gathered over several rounds.

Above: `measure`. Below: `proc`.
"""

import time
from collections.abc import Awaitable, Callable, Mapping

from bench.proc import cpu_seconds

# The bench's own process, where a floor has no other.
DRIVER = "driver"


class Meter:
    """How long each piece of work took, and what CPU the processes behind it used."""

    def __init__(self, processes: Mapping[str, int], *, driver: bool = False) -> None:
        self.seconds: list[float] = []
        names = [*processes, DRIVER] if driver else [*processes]
        self.cpu: dict[str, float] = dict.fromkeys(names, 0.0)
        self._processes = processes

    async def repeat(self, times: int, work: Callable[[], Awaitable[object]]) -> None:
        """Do the work `times` times, one after the other."""
        before = self._cpu()
        for _ in range(times):
            started = time.perf_counter()
            await work()
            self.seconds.append(time.perf_counter() - started)
        self._add(before)

    async def together(self, works: Callable[[], Awaitable[list[float]]]) -> float:
        """Do work that times itself, many pieces at once; gives how many were done in a second."""
        before, started = self._cpu(), time.perf_counter()
        done = await works()
        took = time.perf_counter() - started
        self._add(before)
        self.seconds += done
        return len(done) / took

    def percentile(self, percent: float) -> float:
        """Seconds that this share of the pieces did not exceed."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]

    def cpu_each(self) -> dict[str, float]:
        """CPU seconds per piece, by process."""
        return {name: spent / len(self.seconds) for name, spent in self.cpu.items()}

    def _cpu(self) -> dict[str, float]:
        now = {name: cpu_seconds(pid) for name, pid in self._processes.items()}
        return {**now, DRIVER: time.process_time()}

    def _add(self, before: Mapping[str, float]) -> None:
        now = self._cpu()
        for name in self.cpu:
            self.cpu[name] += now[name] - before[name]
