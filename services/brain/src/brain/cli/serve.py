"""`brain -config FILE`: check it, then run engine and edge, or one of them. Below: `supervisor`."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from brain.config.check import CheckedConfig, check, summary

Role = Literal["edge", "engine"]


def check_only(path: Path) -> int:
    """Say what is wrong with a config, or what is in it."""
    config = checked(path, os.environ)
    if config is None:
        return 1
    print(f"{path}: {summary(config)}")
    return 0


def serve(path: Path, role: Role | None) -> int:
    """Run until told to stop."""
    config = checked(path, os.environ)
    if config is None:
        return 1
    return _both(path, config) if role is None else _one(config, role)


def checked(path: Path, env: Mapping[str, str]) -> CheckedConfig | None:
    """The config, or None once its problems have been said."""
    outcome = check(path, env)
    problems = outcome.warnings if isinstance(outcome, CheckedConfig) else outcome
    for problem in problems:
        warning = "warning: " if isinstance(outcome, CheckedConfig) else ""
        print(f"{warning}{problem}", file=sys.stderr)
    return outcome if isinstance(outcome, CheckedConfig) else None


# What follows imports what it needs: `-check` must not wait for a server's imports, nor a
# supervisor for those of its children.


def _both(path: Path, config: CheckedConfig) -> int:
    from brain.cli.address import url_of  # noqa: PLC0415
    from brain.cli.brain_children import brain_children, grace_seconds  # noqa: PLC0415
    from brain.cli.supervisor import Supervisor  # noqa: PLC0415

    children = brain_children(path, config, os.environ)
    welcome = f"Brain is ready at {url_of(config.host.listen)}"
    return asyncio.run(Supervisor(children, lambda: welcome, grace_seconds(config)).run())


def _one(config: CheckedConfig, role: Role) -> int:
    import uvloop  # noqa: PLC0415

    from brain import logs, open_files, wiring  # noqa: PLC0415

    logs.configure()
    open_files.raise_limit()
    try:
        uvloop.run(wiring.serve_edge(config) if role == "edge" else wiring.serve_engine(config))
    except wiring.StartError as error:
        print(f"brain: {role}: {error}", file=sys.stderr)
        return 1
    return 0
