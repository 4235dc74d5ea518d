"""One run: clients at work, processes killed under them, and at the end every session checked.

Above: `__main__`, the tests. Below: everything else here.
"""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

from msgspec import Struct

from brain_testing.api import Api
from brain_testing.chaos.check import Case, findings, overall
from brain_testing.chaos.database import Database
from brain_testing.chaos.disturbing import Disturber
from brain_testing.chaos.process import KEY
from brain_testing.chaos.report import Report
from brain_testing.chaos.sessions import Client
from brain_testing.chaos.told import Json, Told
from brain_testing.chaos.tools import ToolService, tool_service
from brain_testing.chaos.world import Store, World

_SETTLE_SECONDS = 60
_LATE_SECONDS = 2.0


class Run(Struct, frozen=True):
    """What to do. `points` are played in this order before others are drawn.

    What the processes say and keep is left in `folder`, if there is one.
    """

    seconds: float
    seed: int
    store: Store = "sqlite"
    clients: int = 6
    points: Sequence[str] = ()
    folder: Path | None = None


async def play(run: Run) -> Report:
    """Do it. The same seed makes the same choices, though not at the same moments."""
    begun = asyncio.get_running_loop().time()
    with tempfile.TemporaryDirectory(prefix="brain-") as folder:
        async with _database(run.store) as database:
            report = await _Driver(run, run.folder or Path(folder), database).play()
    report.seconds = asyncio.get_running_loop().time() - begun
    return report


class _Driver:
    def __init__(self, run: Run, folder: Path, database: Database | None) -> None:
        self._run = run
        self._rng = Random(run.seed)
        self._folder = folder
        self._database = database
        self._over = asyncio.Event()
        self._report = Report(run.store, run.seed)
        self._lag = 0.0
        self._disturber: Disturber | None = None

    async def play(self) -> Report:
        watching = asyncio.create_task(self._watch_lag())
        try:
            async with tool_service(self._own_rng(), self._on_point) as tools:
                world = World(self._folder, self._own_rng(), tools.bindings(), self._database)
                world.start()
                try:
                    await self._work(world, tools)
                finally:
                    await world.end()
        finally:
            watching.cancel()
        self._report.findings += world.unexpected()
        return self._report

    async def _work(self, world: World, tools: ToolService) -> None:
        await world.ready()
        self._disturber = Disturber(world, tools, self._own_rng(), self._report)
        clients = [
            Client(f"c{number}", world.urls, self._own_rng(), self._over)
            for number in range(self._run.clients)
        ]
        working = [asyncio.create_task(client.run()) for client in clients]
        try:
            await self._disturber.disturb(self._run.seconds, self._run.points)
            self._over.set()
            await world.ready()
            await asyncio.gather(*working)
            await asyncio.gather(*(client.finish() for client in clients))
            await self._check(world, [each for client in clients for each in client.told], tools)
        finally:
            for task in working:
                task.cancel()
            for client in clients:
                await client.close()

    async def _check(self, world: World, told: Sequence[Told], tools: ToolService) -> None:
        report, seen = self._report, world.seen()
        report.stale = seen.refused
        async with Api(world.urls[0], KEY) as api:
            for each in told:
                if not each.session_id:
                    continue
                log = await _settled(api, each.session_id)
                record = await api.session(each.session_id)
                durable = seen.durable.get(each.session_id, [])
                late = _LATE_SECONDS + self._lag
                report.findings += findings(Case(each, record, log, tools.arrived, durable, late))
                _count(report, each, log)
            usage = (await api.http.get("/usage")).json()
            report.findings += overall(told, await _all_sessions(api), usage)

    async def _on_point(self, session_id: str) -> None:
        if self._disturber is not None:
            await self._disturber.kill_owner(session_id)

    async def _watch_lag(self) -> None:
        """How late this process may be to see what arrives."""
        loop = asyncio.get_running_loop()
        while True:
            begun = loop.time()
            await asyncio.sleep(0.05)
            self._lag = max(self._lag, loop.time() - begun - 0.05)

    def _own_rng(self) -> Random:
        return Random(self._rng.random())


@asynccontextmanager
async def _database(store: Store) -> AsyncGenerator[Database | None]:
    if store == "sqlite":
        yield None
        return
    database = await asyncio.to_thread(Database)
    try:
        await asyncio.to_thread(database.start)
        yield database
    finally:
        await asyncio.to_thread(database.close)


def _count(report: Report, told: Told, log: list[Json]) -> None:
    types = [event["type"] for event in log]
    report.sessions += 1
    report.messages += types.count("message.user")
    report.turns += types.count("turn.started")
    report.calls += types.count("tool.call")
    report.events += len(log)
    report.repeats += told.repeats


async def _settled(api: Api, session_id: str) -> list[Json]:
    """The log of a session once it is idle; the log as it is, if it never becomes so."""
    try:
        async with asyncio.timeout(_SETTLE_SECONDS):
            await api.until_idle(session_id)
    except TimeoutError:
        pass  # `findings` says that it is still running
    return await api.events(session_id)


async def _all_sessions(api: Api) -> list[Json]:
    found: list[Json] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await api.http.get("/sessions", params={"limit": "200", **cursor})).json()
        found += page["sessions"]
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}
