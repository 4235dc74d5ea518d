"""Many engines and many edges on one Postgres, as on many machines.

Above: tests of what survives the loss of one of them. Below: the product's command line for the
engines, which are processes of their own; the edges are in the test's process.
"""

import asyncio
import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Self

import asyncpg
from grpc import aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from brain.config.check import CheckedConfig, check
from brain.wiring import running_edge
from brain_testing.api import Api

Json = dict[str, Any]
_PATIENCE_SECONDS = 30.0


class ClusterEngine:
    """An engine's process. `address` is where edges find it."""

    def __init__(self, name: str, address: str, process: asyncio.subprocess.Process) -> None:
        self.name = name
        self.address = address
        self._process = process

    async def kill(self) -> None:
        """Kill it as `kill -9` does; it gets to do nothing about it."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()

    async def stop(self) -> int:
        """Tell it to stop, and wait until it has; gives its exit code."""
        self._process.terminate()
        return await self.ended()

    async def ended(self) -> int:
        """Wait until it has ended by itself; gives its exit code."""
        async with asyncio.timeout(_PATIENCE_SECONDS):
            return await self._process.wait()

    def pause(self) -> None:
        """Let it do nothing, as a machine that is moved does; it won't know of it."""
        self._process.send_signal(signal.SIGSTOP)

    def unpause(self) -> None:
        """Let it go on where it was."""
        self._process.send_signal(signal.SIGCONT)

    async def serving(self) -> None:
        """Wait until it says so itself."""
        async with aio.insecure_channel(self.address) as channel:
            health: Any = health_pb2_grpc.HealthStub(channel)
            asked = health.Check(health_pb2.HealthCheckRequest(), wait_for_ready=True, timeout=60)
            ended = asyncio.create_task(self._process.wait())
            answered = asyncio.ensure_future(asked)
            await asyncio.wait([answered, ended], return_when=asyncio.FIRST_COMPLETED)
            assert not ended.done(), f"the engine {self.name} ended with {ended.result()}"
            ended.cancel()
            assert (await answered).status == health_pb2.HealthCheckResponse.SERVING


class Cluster:
    """What runs. `edges` are the tenant's view through each edge."""

    def __init__(self, store: str, tools: Sequence[Json], extra: Mapping[str, object]) -> None:
        self.store = store
        # Not pytest's folder: a Unix socket's path may have at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="brain-c-"))
        self.key = secrets.token_urlsafe(24)
        self.edges: list[Api] = []
        self._document = {"tools": list(tools), "shutdown_grace_seconds": 0, **extra}
        self._engines: list[ClusterEngine] = []
        self._stacks: list[AsyncExitStack] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for engine in self._engines:
            await engine.kill()
        for stack in self._stacks:
            await stack.aclose()
        shutil.rmtree(self.folder, ignore_errors=True)

    def address(self, name: str) -> str:
        """Where an engine of this name listens."""
        return f"unix:{self.folder / name}.sock"

    async def start_engines(self, *names: str) -> list[ClusterEngine]:
        """Start engines, all at once; they serve when this returns."""
        started = [await self.begin_engine(name) for name in names]
        await asyncio.gather(*(engine.serving() for engine in started))
        return started

    async def begin_engine(self, name: str) -> ClusterEngine:
        """Start an engine; it may take a while until it serves."""
        self._checked(name, {"listen": self.address(name)})
        with (self.folder / f"{name}.log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "brain", "--role", "engine"),
                *("--config", str(self.folder / f"{name}.json")),
                env={**os.environ, **self.env()},
                stdout=log,
                stderr=log,
            )
        engine = ClusterEngine(name, self.address(name), process)
        self._engines.append(engine)
        return engine

    async def start_edges(self, count: int, *engines: str) -> list[Api]:
        """Start edges that know of engines with these names."""
        connect = [self.address(name) for name in engines]
        for _ in range(count):
            config = self._checked("edge", {"connect": connect})
            stack = AsyncExitStack()
            self._stacks.append(stack)
            url = await stack.enter_async_context(running_edge(config))
            self.edges.append(await stack.enter_async_context(Api(url, self.key)))
        await asyncio.gather(*(api.until_ready() for api in self.edges))
        return self.edges

    async def stop_edge(self, api: Api) -> None:
        """Stop an edge."""
        await self._stacks.pop(self.edges.index(api)).aclose()
        self.edges.remove(api)

    def engine(self, name: str) -> ClusterEngine:
        """The engine of this name that was started last."""
        return next(each for each in reversed(self._engines) if each.name == name)

    async def owner(self, session_id: str) -> str:
        """The name of the engine that owns a session, as the database says; empty if none does."""
        found = await self.ask(
            "SELECT e.address FROM brain.sessions s JOIN brain.engines e ON e.id = s.owner"
            " WHERE s.id = $1",
            session_id,
        )
        return Path(found.removeprefix("unix:")).stem if found else ""

    async def ask(self, query: str, *values: object) -> Any:
        """The first value that the database answers."""
        driver: Any = asyncpg
        connection = await driver.connect(self.store)
        try:
            return await connection.fetchval(query, *values)
        finally:
            await connection.close()

    def env(self) -> dict[str, str]:
        """The variables that the host configs name."""
        return {"KEY": self.key, "STORE": self.store}

    def said(self, name: str) -> str:
        """What an engine has logged."""
        return (self.folder / f"{name}.log").read_text("utf-8", errors="replace")

    def _checked(self, name: str, engine: Json) -> CheckedConfig:
        """Write a host config, and check it as `brain -check` does."""
        path = self.folder / f"{name}.json"
        document = {
            "listen": "127.0.0.1:0",
            "store_env": "STORE",
            "engine": {"listen": self.address(name), **engine},
            "tenants": [{"id": "local", "api_keys_env": ["KEY"]}],
            **self._document,
        }
        path.write_text(json.dumps(document))
        checked = check(path, self.env())
        if not isinstance(checked, CheckedConfig):
            raise AssertionError("\n".join(str(problem) for problem in checked))
        return checked


@asynccontextmanager
async def running_cluster(
    store: str, tools: Sequence[Json] = (), **extra: object
) -> AsyncGenerator[Cluster]:
    """Two engines, `one` and `two`, and two edges that know of both, while the block runs."""
    async with Cluster(store, tools, extra) as cluster:
        await cluster.start_engines("one", "two")
        await cluster.start_edges(2, "one", "two")
        yield cluster
