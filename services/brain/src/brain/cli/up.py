"""`brain up`: everything on this machine, from one folder.

Below: `home`, `services`, `supervisor`.
"""

import argparse
import asyncio
import os
import shutil
import sys
from pathlib import Path

from brain.cli.home import Home, HomeProblem
from brain.cli.serve import brain_children, checked
from brain.cli.services import SERVICES, bindings, children
from brain.cli.supervisor import Supervisor
from brain.config.check import CheckedConfig
from brain.config.host import split_listen

_PORT = 8080


def up(given: argparse.Namespace) -> int:
    """Run everything until told to stop; gives the exit code."""
    home = Home(given.home)
    try:
        _make(home, given)
    except HomeProblem as problem:
        print(f"brain up: {problem}", file=sys.stderr)
        return 1
    os.environ.update(home.keys())
    config = checked(home.config)
    if config is None:
        print(f"brain up: {home.config} can't be used as it is; mend it.", file=sys.stderr)
        return 1
    contradiction = _contradiction(home, config, given)
    if contradiction is not None:
        print(f"brain up: {contradiction}", file=sys.stderr)
        return 2
    started = [*children(config, home.path), *brain_children(home.config, config)]
    supervisor = Supervisor(started, lambda: print(_welcome(home, config), flush=True))
    return asyncio.run(supervisor.run())


def _make(home: Home, given: argparse.Namespace) -> None:
    home.make()
    if home.config.exists():
        return
    tools = [
        binding
        for service in SERVICES
        for binding in bindings(service, given.tools_port or service.port)
    ]
    home.make_config(given.port or _PORT, tools)


def _contradiction(home: Home, config: CheckedConfig, given: argparse.Namespace) -> str | None:
    """An option that says other than the config that is there already."""
    services = {child.name: child.listen for child in children(config, home.path)}
    asked = (("--port", given.port, config.host.listen),)
    asked += (("--tools-port", given.tools_port, services.get("tools")),)
    for option, port, listen in asked:
        if port is not None and listen is not None and split_listen(listen)[1] != port:
            return (
                f"{option} {port} contradicts {home.config}, which says {listen}: "
                "change it there, or use another --home."
            )
    return None


def _welcome(home: Home, config: CheckedConfig) -> str:
    command = "brain" if shutil.which("brain") else str(Path(sys.executable).parent / "brain")
    if not shutil.which("brain") and Path(command).is_relative_to(Path.cwd()):
        command = str(Path(command).relative_to(Path.cwd()))
    where = "" if home.path == Path(".brain") else f" --home {home.path}"
    url = f"http://{config.host.listen}"
    return f"""
Brain is ready at {url}. The API key is in {home.api_key}.

  See what it offers:   curl -s {url}/catalog -H "Authorization: Bearer $(cat {home.api_key})"
  Talk to it:           {command} chat{where}
  Stop it:              Ctrl-C
"""
