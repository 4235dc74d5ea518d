"""Engine and edge as children of a supervisor. Above: `serve`, `up`. Below: `children`."""

import sys
from collections.abc import Mapping
from pathlib import Path

from brain.cli.children import Child
from brain.config.check import CheckedConfig

_BEYOND_GRACE_SECONDS = 10.0


def brain_children(path: Path, config: CheckedConfig, env: Mapping[str, str]) -> list[Child]:
    """The engine and the edge of a config, in the order in which they start.

    The engine is ready in earnest when the edge is: `/readyz` asks for the engine's gRPC health.
    """
    command = [sys.executable, "-m", "brain", "--config", str(path), "--role"]
    host = config.host
    engine_instead = f"choose another address at /engine/listen in {path}"
    edge_instead = f"choose another address at /listen in {path}"
    return [
        Child("engine", [*command, "engine"], host.engine.listen, None, env, engine_instead),
        Child("edge", [*command, "edge"], host.listen, "/readyz", env, edge_instead),
    ]


def grace_seconds(config: CheckedConfig) -> float:
    """How long a child may take to stop: what the config grants to tool calls, and some more."""
    return config.host.shutdown_grace_seconds + _BEYOND_GRACE_SECONDS
