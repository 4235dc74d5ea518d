"""The processes of a Brain that are killed, stopped and started again. Above: `driver`.

Below: `process`, `database`. On SQLite that is one engine and some edges, on Postgres two engines
that share the sessions, and edges that know both.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, Literal

from brain.main import main as brain
from brain_testing.api import Api
from brain_testing.chaos import witness
from brain_testing.chaos.database import Database
from brain_testing.chaos.engine import NOT_STARTED
from brain_testing.chaos.engine import main as run_engine
from brain_testing.chaos.points import Trap
from brain_testing.chaos.process import KEY, Process
from brain_testing.commands import free_ports

Store = Literal["sqlite", "postgres"]
_EDGES = 2
_ENGINES = 2
_READY_SECONDS = 60


class Engine(Process):
    """An engine. `trap` is where a point is named for it; `address` is where edges find it."""

    def __init__(self, name: str, address: str, config: Path, folder: Path, rng: Random) -> None:
        self.address = address
        self.trap = Trap(folder / f"{name}.trap")
        self.seen = folder / f"{name}.seen"
        arguments = (str(config), str(self.seen), str(folder / f"{name}.trap"))
        super().__init__(name, run_engine, arguments, folder, rng)


class World:
    """The engines and edges of one Brain, with their configs in a folder, and the database."""

    def __init__(
        self, folder: Path, rng: Random, tools: list[dict[str, Any]], database: Database | None
    ) -> None:
        self._folder = folder
        self._rng = rng
        self._tools = tools
        self.database = database
        self.engines: list[Engine] = []
        self.edges: list[Process] = []
        self.urls: list[str] = []
        addresses = ["unix:engine.sock"]
        if database is not None:
            addresses = [f"127.0.0.1:{port}" for port in free_ports(_ENGINES)]
        for number, address in enumerate(addresses):
            self._add_engine(number, address)
        for number, port in enumerate(free_ports(_EDGES)):
            self._add_edge(number, port, addresses)

    @property
    def processes(self) -> list[Process]:
        return [*self.engines, *self.edges]

    def start(self) -> None:
        for process in self.processes:
            process.start()

    async def ready(self) -> None:
        """Return once every edge says that it can be used."""
        for url in self.urls:
            async with Api(url, KEY) as api, asyncio.timeout(_READY_SECONDS):
                await _answers(api)

    async def end(self) -> None:
        for process in reversed(self.processes):
            await process.end()

    def unexpected(self) -> list[str]:
        """Whatever ended in a way that nobody asked for."""
        return [each for process in self.processes for each in process.unexpected]

    def seen(self) -> witness.Seen:
        """What its engines know of their writes."""
        return witness.read(engine.seen for engine in self.engines)

    def _add_engine(self, number: int, address: str) -> None:
        config = self._write(f"engine{number}", engine=self._engine(address))
        engine = Engine(f"engine{number}", address, config, self._folder, self._rng)
        if self.database is not None:
            engine.excused = frozenset({NOT_STARTED})  # it may find the database down
        self.engines.append(engine)

    def _add_edge(self, number: int, port: int, engines: Sequence[str]) -> None:
        address = f"127.0.0.1:{port}"
        connect = self._engine(engines[0], connect=list(engines))
        config = self._write(f"edge{number}", listen=address, engine=connect)
        arguments = ("--config", str(config), "--role", "edge")
        work: Callable[[Sequence[str]], object] = brain
        self.edges.append(Process(f"edge{number}", work, arguments, self._folder, self._rng))
        self.urls.append(f"http://{address}")

    def _engine(self, listen: str, **more: Any) -> dict[str, Any]:
        return {"listen": listen, "key_env": "DRIVER_ENGINE_KEY", **more}

    def _write(self, name: str, **more: Any) -> Path:
        document = {
            "store": "sqlite:///brain.db" if self.database is None else self.database.url,
            "tenants": [{"id": "local", "api_keys_env": ["DRIVER_KEY"]}],
            "shutdown_grace_seconds": 1,
            "tools": self._tools,
            **more,
        }
        path = self._folder / f"{name}.json"
        path.write_text(json.dumps(document))
        return path


async def _answers(api: Api) -> None:
    while True:
        try:
            if (await api.http.get("/readyz")).status_code == 200:
                return
        except Exception:  # noqa: BLE001 - it doesn't listen yet
            pass
        await asyncio.sleep(0.05)
