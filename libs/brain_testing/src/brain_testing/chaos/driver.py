"""One run: clients at work, processes killed under them, and at the end every session checked.

Above: `__main__`, the tests. Below: everything else here.
"""

import asyncio
import signal
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

from msgspec import Struct, field

from brain_testing.api import Api
from brain_testing.chaos.check import findings
from brain_testing.chaos.points import POINTS
from brain_testing.chaos.sessions import Client, Told
from brain_testing.chaos.tools import tool_service
from brain_testing.chaos.world import KEY, Process, World

_SETTLE_SECONDS = 60


class Run(Struct, frozen=True):
    """What to do. `points` are played in this order before others are drawn."""

    seconds: float
    seed: int
    clients: int = 6
    points: Sequence[str] = ()


class Report(Struct):
    """What was done, and all that was found to be wrong."""

    seed: int
    sessions: int = 0
    events: int = 0
    calls: int = 0
    done: dict[str, int] = field(default_factory=dict[str, int])
    points: dict[str, int] = field(default_factory=dict[str, int])
    findings: list[str] = field(default_factory=list[str])

    @property
    def kills(self) -> int:
        """How often a process was killed as by `kill -9`."""
        at_points = sum(self.points.values())
        return at_points + sum(n for what, n in self.done.items() if what.startswith("kill"))


async def play(run: Run) -> Report:
    """Do it. The same seed makes the same choices, though not at the same moments."""
    rng = Random(run.seed)
    with tempfile.TemporaryDirectory(prefix="brain-") as folder:
        driver = _Driver(run, rng, Path(folder))
        return await driver.play()


class _Driver:
    def __init__(self, run: Run, rng: Random, folder: Path) -> None:
        self._run = run
        self._rng = rng
        self._folder = folder
        self._over = asyncio.Event()
        self._done: Counter[str] = Counter()
        self._points = list(run.points)
        self._world = World(folder, rng, [])

    async def play(self) -> Report:
        async with tool_service(Random(self._rng.random()), self._kill_while_called) as tools:
            self._world = World(self._folder, self._rng, tools.bindings())
            self._world.build()
            self._world.start()
            await self._ready()
            clients = [
                Client(f"c{n}", self._world.urls, Random(self._rng.random()), self._over)
                for n in range(self._run.clients)
            ]
            working = [asyncio.create_task(client.run()) for client in clients]
            try:
                await self._disturb()
                self._over.set()
                await asyncio.gather(*working)
                for client in clients:
                    await client.finish()
                told = [each for client in clients for each in client.told]
                report = await self._check(told, tools.arrived)
            finally:
                for task in working:
                    task.cancel()
                await self._world.end()
            report.findings += self._world.unexpected()
            return report

    async def _ready(self) -> None:
        for url in self._world.urls:
            async with Api(url, KEY) as api:
                await _answers(api)

    async def _disturb(self) -> None:
        """Until the time is up and every point has been played."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._run.seconds
        while loop.time() < end or self._points:
            await asyncio.sleep(self._rng.uniform(0.2, 1.5))
            await self._one_disturbance()

    async def _one_disturbance(self) -> None:
        engine, what = self._rng.choice(self._world.engines), self._rng.random()
        if self._points or what < 0.45:
            await self._die_at_a_point(engine)
        elif what < 0.65:
            self._send("kill engine", engine, signal.SIGKILL)
        elif what < 0.75:
            self._send("stop engine", engine, signal.SIGTERM)
        elif what < 0.9:
            self._send("kill edge", self._rng.choice(self._world.edges), signal.SIGKILL)
        elif what < 0.95:
            self._send("kill engine and edge", engine, signal.SIGKILL)
            self._rng.choice(self._world.edges).send(signal.SIGKILL)
        else:
            await self._pause(engine, self._rng.uniform(0.1, 1.0))

    async def _die_at_a_point(self, engine: Process) -> None:
        """Start the engine anew, to die by itself when it comes to the point."""
        point = self._points.pop(0) if self._points else self._rng.choice(POINTS)
        engine.next_point = f"{point}:{self._rng.randint(1, 4)}"
        starts = engine.starts
        self._send("kill engine", engine, signal.SIGKILL)
        try:
            async with asyncio.timeout(10):
                await engine.has_started(starts + 2)
        except TimeoutError:
            pass  # nothing came to this point, as when nobody was to be interrupted

    async def _pause(self, process: Process, seconds: float) -> None:
        self._send("pause engine", process, signal.SIGSTOP)
        await asyncio.sleep(seconds)
        process.send(signal.SIGCONT)

    def _kill_while_called(self) -> None:
        """A call has arrived and has no answer yet."""
        if not self._over.is_set() and self._rng.random() < 0.3:
            self._send(
                "kill engine during a call", self._rng.choice(self._world.engines), signal.SIGKILL
            )

    def _send(self, what: str, process: Process, number: signal.Signals) -> None:
        if process.send(number):
            self._done[what] += 1

    async def _check(self, told: Sequence[Told], arrived: Counter[str]) -> Report:
        report = Report(self._run.seed, sessions=len(told), done=dict(self._done))
        for process in self._world.processes:
            for point, times in process.died_at.items():
                report.points[point] = report.points.get(point, 0) + times
        async with Api(self._world.urls[0], KEY) as api:
            await _answers(api)
            for each in told:
                log = await _settled(api, each.session_id)
                report.events += len(log)
                report.calls += sum(event["type"] == "tool.call" for event in log)
                record = await api.session(each.session_id)
                report.findings += findings(each, record, log, arrived)
        return report


async def _answers(api: Api) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                if (await api.http.get("/readyz")).status_code == 200:
                    return
            except Exception:  # noqa: BLE001 - it doesn't listen yet
                pass
            await asyncio.sleep(0.05)


async def _settled(api: Api, session_id: str) -> list[dict[str, object]]:
    """The log of a session once it is idle; the log as it is, if it never becomes so."""
    try:
        async with asyncio.timeout(_SETTLE_SECONDS):
            await api.until_idle(session_id)
    except TimeoutError:
        pass  # `findings` says that it is still running
    return await api.events(session_id)
