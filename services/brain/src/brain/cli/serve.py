"""`brain -config FILE`: check it, then run engine and edge, or one of them. Below: `supervisor`."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Literal

from brain.cli.children import Child, Failed
from brain.cli.supervisor import Supervisor
from brain.config.check import CheckedConfig, check, summary

Role = Literal["edge", "engine"]


def check_only(path: Path) -> int:
    """Say what is wrong with a config, or what is in it."""
    config = checked(path)
    if config is None:
        return 1
    print(f"{path}: {summary(config)}")
    return 0


def serve(path: Path, role: Role | None) -> int:
    """Run until told to stop."""
    config = checked(path)
    if config is None:
        return 1
    return _both(path, config) if role is None else _one(config, role)


def checked(path: Path) -> CheckedConfig | None:
    """The config, or None once its problems have been said."""
    outcome = check(path, os.environ)
    problems = outcome.warnings if isinstance(outcome, CheckedConfig) else outcome
    for problem in problems:
        warning = "warning: " if isinstance(outcome, CheckedConfig) else ""
        print(f"{warning}{problem}", file=sys.stderr)
    return outcome if isinstance(outcome, CheckedConfig) else None


def brain_children(path: Path, config: CheckedConfig) -> list[Child]:
    """The engine and the edge of a config, in the order in which they start."""
    command = [sys.executable, "-m", "brain", "--config", str(path), "--role"]
    return [
        Child("engine", [*command, "engine"]),
        Child("edge", [*command, "edge"], config.host.listen, ready_path="/readyz"),
    ]


def _both(path: Path, config: CheckedConfig) -> int:
    def ready() -> None:
        print(f"Brain is ready at http://{config.host.listen}", flush=True)

    return asyncio.run(Supervisor(brain_children(path, config), ready).run())


def _one(config: CheckedConfig, role: Role) -> int:
    import uvloop  # noqa: PLC0415 - `-check` must not wait for a server's imports

    from brain import logs, wiring  # noqa: PLC0415

    logs.configure()
    try:
        uvloop.run(wiring.serve_edge(config) if role == "edge" else wiring.serve_engine(config))
    except wiring.StartError as error:
        print(Failed(role, str(error)), file=sys.stderr)
        return 1
    return 0
