"""What is done to the processes of a world, one thing after the other. Above: `driver`.

Below: `world`, `tools` for the moments that only a tool service sees.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Sequence
from random import Random

from brain_testing.chaos.database import Database, Owned
from brain_testing.chaos.points import CALL_POINTS, POINTS, STOPS
from brain_testing.chaos.process import Process
from brain_testing.chaos.report import TAKEOVER_SECONDS, Report
from brain_testing.chaos.tools import ToolService
from brain_testing.chaos.world import Engine, World

_POINT_SECONDS = 12.0
_STEADY_SECONDS = 7.0
"""So long an engine must have been undisturbed before it takes over what another leaves."""
_LONGEST_TAKEOVER_SECONDS = 60.0
_LATE_SECONDS = (3.5, 5.0)
"""So long after its sessions were taken over, a stopped engine goes on."""
_AWAY_SECONDS = 20.0

_ALWAYS = {
    "point": 38,
    "kill engine": 18,
    "stop engine": 8,
    "kill edge": 14,
    "stop edge": 4,
    "kill engine and edge": 6,
    "pause engine": 6,
}
_ON_POSTGRES = {
    "kill database": 5,
    "kill a part of the database": 5,
    "restart database": 3,
    "takeover": 14,
    "outlast lease": 10,
}


class Disturber:
    """Does it, and counts it in a report."""

    def __init__(self, world: World, tools: ToolService, rng: Random, report: Report) -> None:
        self._world = world
        self._tools = tools
        self._rng = rng
        self._report = report
        self._quiet_since = 0.0
        self._weights = _ALWAYS | (_ON_POSTGRES if world.database is not None else {})
        self._rarely: dict[str, Callable[[Database], Awaitable[None]]] = {
            "kill database": lambda database: database.kill(self._rng.uniform(0, 3)),
            "kill a part of the database": lambda database: database.kill_a_part(self._rng),
            "restart database": lambda database: database.restart(),
            "takeover": self.take_over,
            "outlast lease": self.outlast_lease,
        }

    async def disturb(self, seconds: float, points: Sequence[str] = ()) -> None:
        """Play the points in their order, then whatever comes, until the time is up."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        for point in points:
            await self.at_point(point)
        while loop.time() < end:
            await asyncio.sleep(self._rng.uniform(0.1, 1.2))
            await self._something()

    async def _something(self) -> None:
        what = self._rng.choices(list(self._weights), weights=list(self._weights.values()))[0]
        engine, edge = self._rng.choice(self._world.engines), self._rng.choice(self._world.edges)
        database = self._world.database
        if what == "point":
            await self.at_point(self._rng.choice(POINTS))
        elif what == "pause engine":
            await self._pause(engine, self._rng.uniform(0.1, 1.0))
        elif database is not None and what in self._rarely:
            await self._rarely[what](database)
            self._report.done[what] += 1
        else:
            number = signal.SIGTERM if what.startswith("stop") else signal.SIGKILL
            if "engine" in what:
                self._send(f"{what.split()[0]} engine", engine, number)
            if "edge" in what:
                self._send(f"{what.split()[0]} edge", edge, number)
        self._quiet_since = asyncio.get_running_loop().time()

    async def at_point(self, point: str) -> None:
        """Let an engine die when it next comes to a point."""
        if point in CALL_POINTS:
            self._tools.point = point
            reached = await _within(_POINT_SECONDS, lambda: self._tools.point is None)
            self._tools.point = None
        else:
            reached = await self._trap(point)
        counts = self._report.points if reached else self._report.missed
        counts[point] += 1

    async def kill_owner(self, session_id: str) -> None:
        """Kill the engine that has a session, now."""
        engines, database = self._world.engines, self._world.database
        owner = None if database is None else await database.owner(session_id)
        victims = [each for each in engines if each.address == owner] or engines
        for each in victims:
            each.send(signal.SIGKILL)
        await _within(1, lambda: not any(each.running for each in victims))

    async def take_over(self, database: Database) -> None:
        """Kill an engine, and see how long it takes until all its work is another's."""
        engine, _ = await self._both_steady()
        if self._rng.random() < 0.5:
            engine.away_seconds = _AWAY_SECONDS  # nobody but the other engine can do it
        owned = await database.owned_by(engine.address)
        self._send("kill engine", engine, signal.SIGKILL)
        if owned is not None and owned.ids:
            await self._taken(database, owned)

    async def outlast_lease(self, database: Database) -> None:
        """Stop an engine until others have its sessions, then let it go on, too late."""
        engine, _ = await self._both_steady()
        point = self._rng.choice([None, *STOPS])
        if point is None:
            self._send("stop an engine by SIGSTOP", engine, signal.SIGSTOP)
        elif await self._stops_at(engine, point):
            self._report.points[f"{point}, stop"] += 1
        try:
            owned = await database.owned_by(engine.address)
            if owned is not None and owned.ids:
                await self._taken(database, owned)
            await asyncio.sleep(self._rng.uniform(*_LATE_SECONDS))
        finally:
            engine.send(signal.SIGCONT)

    async def _stops_at(self, engine: Engine, point: str) -> bool:
        engine.trap.set(point, "stop")
        reached = await _within(_POINT_SECONDS, lambda: not engine.trap.is_set)
        return not engine.trap.take_back() and reached

    async def _taken(self, database: Database, owned: Owned) -> None:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        while (took := loop.time() - begun) < _LONGEST_TAKEOVER_SECONDS:
            if await database.still(owned) == []:
                break
            await asyncio.sleep(0.1)
        self._report.takeovers.append(round(took, 2))
        if took > TAKEOVER_SECONDS:
            self._report.late.append(
                f"{len(owned.ids)} sessions were taken over after {took:.1f} s"
            )

    async def _both_steady(self) -> tuple[Engine, Engine]:
        """An engine to do something to, and the other, once neither has been disturbed lately."""
        one, other = self._rng.sample(self._world.engines, 2)
        await self._world.ready()
        quiet = asyncio.get_running_loop().time() - self._quiet_since
        await asyncio.sleep(max(0.0, _STEADY_SECONDS - quiet))
        return one, other

    async def _trap(self, point: str) -> bool:
        engines = self._world.engines
        chosen = self._rng.sample(engines, 1)
        if point.endswith("turn.recovered"):
            chosen = engines  # whoever recovers what this kill leaves
            for each in engines:
                each.trap.set(point)
            self._send("kill engine", self._rng.choice(engines), signal.SIGKILL)
        else:
            chosen[0].trap.set(point)
        await _within(_POINT_SECONDS, lambda: not all(each.trap.is_set for each in chosen))
        untouched = [each.trap.take_back() for each in chosen]  # each of them
        return not all(untouched)

    async def _pause(self, engine: Engine, seconds: float) -> None:
        self._send("pause engine", engine, signal.SIGSTOP)
        await asyncio.sleep(seconds)
        engine.send(signal.SIGCONT)

    def _send(self, what: str, process: Process, number: signal.Signals) -> None:
        if process.send(number):
            self._report.done[what] += 1


async def _within(seconds: float, condition: Callable[[], bool]) -> bool:
    """Whether it came true in that time."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while not condition():
        if loop.time() > end:
            return False
        await asyncio.sleep(0.02)
    return True
