"""`brain up`: everything on this machine, from one folder.

Below: `home`, `services`, `brain_children`, `supervisor`.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping

from brain.cli.address import trouble_at
from brain.cli.brain_children import brain_children, grace_seconds
from brain.cli.home import API_KEY, Home, HomeProblem
from brain.cli.serve import checked
from brain.cli.services import (
    LOCAL_TOOLS,
    SERVICES,
    ServiceProblem,
    address_in,
    bindings,
    children,
    find_command,
    missing,
)
from brain.cli.supervisor import Supervisor
from brain.cli.welcome import approvals_line, welcome
from brain.config.check import CheckedConfig
from brain.config.host import split_listen

_PORT = 8080


class _Refused(Exception):
    """It can't start like this: one clear line, and the exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def up(given: argparse.Namespace) -> int:
    """Run everything until told to stop; gives the exit code."""
    os.umask(0o077)  # whatever is made in the home is for its owner only
    home = Home(given.home, {service.key_env: service.key_file for service in SERVICES})
    try:
        with home.opened():
            return _up(home, given)
    except (HomeProblem, ServiceProblem, _Refused) as problem:
        print(f"brain up: {problem}", file=sys.stderr)
        return problem.code if isinstance(problem, _Refused) else 1


def _up(home: Home, given: argparse.Namespace) -> int:
    if not home.config.exists():
        _make_config(home, given)
    env = dict(os.environ)
    for variable, key in home.keys().items():
        env[variable] = env.get(variable) or key
    config = checked(home.config, env)
    if config is None:
        raise HomeProblem(f"{home.config} can't be used as it is; mend it, or remove it.")
    _compare(home, config, given)
    home.check_socket(config.host.engine.listen)
    for command in missing(config):
        print(f"warning: {command} isn't installed, so it isn't started.", file=sys.stderr)
    return _run(home, config, env)


def _run(home: Home, config: CheckedConfig, env: Mapping[str, str]) -> int:
    started = children(config, home.path, env) + brain_children(home.config, config, env)
    key_in_env = bool(os.environ.get(API_KEY))

    def said() -> str:
        return welcome(
            home, config.host.listen, key_in_env=key_in_env, approvals=_approvals(home, config)
        )

    return asyncio.run(Supervisor(started, said, grace_seconds(config)).run())


def _approvals(home: Home, config: CheckedConfig) -> str:
    listen = address_in(config, LOCAL_TOOLS)
    if listen is None or find_command(LOCAL_TOOLS.command) is None:
        return ""
    return approvals_line(home, listen, keys_in_env=bool(os.environ.get("APPROVALS_KEYS")))


def _make_config(home: Home, given: argparse.Namespace) -> None:
    """Write the config of a first start, but only one that works: a later start goes by it."""
    ports = {service.name: service.port for service in SERVICES}
    ports[LOCAL_TOOLS.name] = given.tools_port or LOCAL_TOOLS.port
    port = given.port or _PORT
    if port in ports.values():
        raise _Refused(f"the API and a tool service can't both have port {port}: choose two.", 2)
    _must_be_free(port, "choose another with --port")
    for name, taken in ports.items():
        _must_be_free(taken, f"choose another with --{name}-port")
    tools = [each for service in SERVICES for each in bindings(service, ports[service.name])]
    home.make_config(port, tools)


def _must_be_free(port: int, instead: str) -> None:
    trouble = trouble_at(f"127.0.0.1:{port}")
    if trouble is not None:
        raise _Refused(f"127.0.0.1:{port} {trouble}. Stop what listens there, or {instead}.", 1)


def _compare(home: Home, config: CheckedConfig, given: argparse.Namespace) -> None:
    """Hold the options to the config that is there already."""
    asked = (
        ("--port", given.port, config.host.listen),
        ("--tools-port", given.tools_port, address_in(config, LOCAL_TOOLS)),
    )
    for option, port, listen in asked:
        if port is not None and (listen is None or split_listen(listen)[1] != port):
            says = listen or "nothing of local tools"
            raise _Refused(
                f"{option} {port} contradicts {home.config}, which says {says}: "
                "change it there, or use another --home.",
                2,
            )
