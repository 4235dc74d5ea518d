"""A whole Brain inside the test's own process: an engine, an edge, a log in a temporary folder.

Between them all is real: gRPC over a Unix socket, HTTP on a port of its own. Being in one process
lets a test move the clock, lower a limit, or stop the engine alone.
"""

import json
import secrets
import shutil
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from brain.config.check import CheckedConfig, check
from brain.wiring import Tuning, running_edge, running_engine

Json = dict[str, Any]


class Setup(Struct, frozen=True, kw_only=True):
    """What a test asks of its Brain. `tools` are bindings as in the host config."""

    tools: Sequence[Json] = ()
    tenants: Sequence[str] = ("local",)
    env: Mapping[str, str] = {}
    tuning: Tuning = Tuning()
    extra: Mapping[str, object] = {}


class RunningBrain:
    """A Brain to call. `keys` maps each tenant to a key of its own."""

    def __init__(self, setup: Setup, folder: Path) -> None:
        self.setup = setup
        self.folder = folder
        self.keys = {tenant: secrets.token_urlsafe(24) for tenant in setup.tenants}
        self.url = ""
        self._engine = AsyncExitStack()
        self._edge = AsyncExitStack()

    @property
    def key(self) -> str:
        """The first tenant's key."""
        return self.keys[self.setup.tenants[0]]

    async def start(self) -> None:
        await self.start_engine()
        await self.start_edge()

    async def start_engine(self, setup: Setup | None = None) -> None:
        """Start the engine, with another setup if one is given."""
        self.setup = setup or self.setup
        config = self.config()
        await self._engine.enter_async_context(
            running_engine(config, self.env(), self.setup.tuning)
        )

    async def start_edge(self) -> None:
        self.url = await self._edge.enter_async_context(running_edge(self.config()))

    async def restart_edge(self) -> None:
        """Stop the edge, and start it again at the same address."""
        await self.stop_edge()
        await self.start_edge()

    async def stop_engine(self) -> None:
        """Stop the engine as SIGTERM would; the edge goes on without it."""
        await self._engine.aclose()

    async def stop_edge(self) -> None:
        await self._edge.aclose()

    async def stop(self) -> None:
        await self.stop_edge()
        await self.stop_engine()

    def config(self) -> CheckedConfig:
        """The host config of this Brain, checked as `brain -check` checks it."""
        path = self.folder / "brain.json"
        path.write_text(json.dumps(self._document()))
        checked = check(path, self.env())
        if not isinstance(checked, CheckedConfig):
            raise AssertionError("\n".join(str(problem) for problem in checked))
        return checked

    def _document(self) -> Json:
        return {
            "listen": self.url.removeprefix("http://") or "127.0.0.1:0",
            "public_url": self.url or "http://127.0.0.1:1",
            **({} if "store_env" in self.setup.extra else {"store": "sqlite:///brain.db"}),
            "engine": {"listen": "unix:engine.sock"},
            "tenants": [
                {"id": tenant, "api_keys_env": [_key_variable(index)]}
                for index, tenant in enumerate(self.setup.tenants)
            ],
            "tools": list(self.setup.tools),
            "shutdown_grace_seconds": 0,
            **self.setup.extra,
        }

    def env(self) -> dict[str, str]:
        """The environment variables that the host config names."""
        keys = {_key_variable(i): self.keys[t] for i, t in enumerate(self.setup.tenants)}
        return {**keys, **self.setup.env}


def _key_variable(index: int) -> str:
    return f"KEY_OF_TENANT_{index}"


@asynccontextmanager
async def running_brain(setup: Setup) -> AsyncGenerator[RunningBrain]:
    """A Brain that runs while the block does."""
    # Not pytest's folder: a Unix socket's path may have at most 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="brain-"))
    brain = RunningBrain(setup, folder)
    try:
        await brain.start()
        yield brain
    finally:
        await brain.stop()
        shutil.rmtree(folder, ignore_errors=True)
