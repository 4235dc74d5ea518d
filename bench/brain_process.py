"""Brain, started as a user would: `brain -config FILE`, with `brain-local-tools` beside it.

Above: `__main__`. Below: `processes`, the installed commands.
"""

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from bench.proc import command_line, family
from bench.processes import DidNotStart, free_port, ready, running

_BIN = Path(sys.executable).parent


class Tools(NamedTuple):
    """Local tools that run: their bindings, and the environment that has their token."""

    bindings: list[object]
    env: Mapping[str, str]


class Brain(NamedTuple):
    """A Brain that runs: where it listens, its processes, and how long it took to be ready."""

    port: int
    key: str
    edge: int
    engine: int
    seconds_to_ready: float

    @property
    def processes(self) -> dict[str, int]:
        """The server's processes by what they are."""
        return {"edge": self.edge, "engine": self.engine}


@asynccontextmanager
async def running_tools(folder: Path) -> AsyncGenerator[Tools]:
    """The local tools on a port of their own, while the block runs. Raises: DidNotStart."""
    port = free_port()
    env = {**os.environ, "BRAIN_TOOLS_KEY": secrets.token_urlsafe(24)}
    command = _BIN / "brain-local-tools"
    data = folder / "local-tools"
    data.mkdir()
    with running([command, "--listen", f"127.0.0.1:{port}", "--data", data], folder, env) as server:
        await ready(server, port, "/healthz")
        url = f"http://127.0.0.1:{port}"
        yield Tools(_printed([command, "bindings", "--url", url, "--tenant", "local"], env), env)


@asynccontextmanager
async def running_brain(folder: Path, tools: Tools) -> AsyncGenerator[Brain]:
    """Brain with an empty log in this folder, while the block runs. Raises: DidNotStart."""
    port, key = free_port(), secrets.token_urlsafe(24)
    config = folder / "brain.json"
    config.write_text(json.dumps(_config(port, tools)), encoding="utf-8")
    started = time.perf_counter()
    env = {**tools.env, "BRAIN_API_KEY": key}
    with running([_BIN / "brain", "-config", config], folder, env) as server:
        await ready(server, port, "/readyz")
        took = time.perf_counter() - started
        edge, engine = (_process(server.pid, role) for role in ("edge", "engine"))
        yield Brain(port, key, edge, engine, took)


def _printed(command: list[str | Path], env: Mapping[str, str]) -> list[object]:
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=env, timeout=20)
    return json.loads(done.stdout)


def _config(port: int, tools: Tools) -> dict[str, object]:
    return {
        "listen": f"127.0.0.1:{port}",
        "store": "sqlite:///brain.db",
        "engine": {"listen": "unix:engine.sock"},
        "tools": tools.bindings,
    }


def _process(root: int, role: str) -> int:
    for pid in family(root):
        if role in command_line(pid):
            return pid
    raise DidNotStart(f"Brain has no process of the role {role}.")
