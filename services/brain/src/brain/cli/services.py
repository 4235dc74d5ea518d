"""The tool services that `brain up` starts, and what it asks of them. Above: `up`."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from brain.cli.children import Child
from brain.config.check import CheckedConfig

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_BINDINGS_SECONDS = 30


class Service(NamedTuple):
    """A service that ships with Brain. Its bindings name `key_env`; `port` is where it usually is.

    `name` is the name of its log lines, and of its folder in the home.
    """

    name: str
    command: str
    key_env: str
    port: int

    @property
    def key_file(self) -> str:
        """The file in the home with its key."""
        return f"{self.name}_key"


LOCAL_TOOLS = Service("tools", "brain-local-tools", "BRAIN_TOOLS_KEY", 8081)
SERVICES = (LOCAL_TOOLS,)


class ServiceProblem(Exception):
    """A service can't say what it offers; the message is one clear line."""


def bindings(service: Service, port: int) -> list[dict[str, Any]]:
    """The service's bindings, as it prints them; none if it isn't installed.

    Raises: ServiceProblem.
    """
    command = find_command(service.command)
    if command is None:
        return []
    ask = [command, "bindings", "--url", f"http://127.0.0.1:{port}"]
    try:
        printed = subprocess.run(
            ask, capture_output=True, check=True, text=True, timeout=_BINDINGS_SECONDS
        )
        return json.loads(printed.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise ServiceProblem(f"{service.command} doesn't say what it offers: {error}") from error


def children(config: CheckedConfig, home: Path, env: Mapping[str, str]) -> list[Child]:
    """The services that this config calls on this machine, as far as they are installed."""
    found: list[Child] = []
    for service in SERVICES:
        command, listen = find_command(service.command), address_in(config, service)
        if command is not None and listen is not None:
            arguments = [command, "--listen", listen, "--data", str(home / service.name)]
            found.append(
                Child(
                    service.name,
                    arguments,
                    listen,
                    "/healthz",
                    _env_of(service, config, env),
                    instead=f"change the urls of its tools in {home / 'brain.json'}",
                )
            )
    return found


def missing(config: CheckedConfig) -> list[str]:
    """The commands that this config needs on this machine and that aren't installed."""
    return [
        service.command
        for service in SERVICES
        if address_in(config, service) and find_command(service.command) is None
    ]


def address_in(config: CheckedConfig, service: Service) -> str | None:
    """Where a config's bindings say that a service is, if that is on this machine."""
    for tool in config.host.tools:
        url = urlsplit(tool.url)
        here = url.scheme == "http" and url.hostname in _LOOPBACK
        if here and tool.token_env == service.key_env and url.hostname is not None:
            host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
            return f"{host}:{url.port or 80}"
    return None


def find_command(name: str) -> str | None:
    """A command that is installed beside this one, or else on the PATH."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else shutil.which(name)


def _env_of(service: Service, config: CheckedConfig, env: Mapping[str, str]) -> dict[str, str]:
    """The environment without the secrets that are Brain's own or another service's."""
    host = config.host
    secret = {name for tenant in host.tenants for name in tenant.api_keys_env}
    secret |= {model.api_key_env for model in config.models if model.api_key_env}
    secret |= {tool.token_env for tool in host.tools if tool.token_env}
    secret |= {host.engine.key_env} if host.engine.key_env else set()
    secret |= {other.key_env for other in SERVICES}
    return {name: value for name, value in env.items() if name not in secret - {service.key_env}}
