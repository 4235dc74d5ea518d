"""The tool services that `brain up` starts, and what it asks of them. Above: `up`."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from brain.cli.children import Child
from brain.config.check import CheckedConfig

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Service(NamedTuple):
    """A service that ships with Brain. Its bindings name `key_env`."""

    name: str
    command: str
    key_env: str
    port: int


SERVICES = (Service("tools", "brain-local-tools", "BRAIN_TOOLS_KEY", 8081),)


def bindings(service: Service, port: int) -> list[dict[str, Any]]:
    """The service's bindings, as it prints them; none if it isn't installed."""
    command = _find(service)
    if command is None:
        return []
    url = f"http://127.0.0.1:{port}"
    printed = subprocess.run(
        [command, "bindings", "--url", url], capture_output=True, check=True, text=True
    )
    return json.loads(printed.stdout)


def children(config: CheckedConfig, home: Path) -> list[Child]:
    """The services that this config calls on this machine."""
    found: list[Child] = []
    for service in SERVICES:
        command, listen = _find(service), _listen(service, config)
        if command is not None and listen is not None:
            data = str(home / service.name)
            found.append(Child(service.name, [command, "--listen", listen, "--data", data], listen))
    return found


def _listen(service: Service, config: CheckedConfig) -> str | None:
    """Where its bindings say that it is, if that is here."""
    for tool in config.host.tools:
        url = urlsplit(tool.url)
        if tool.token_env == service.key_env and url.hostname in _LOOPBACK:
            host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
            return f"{host}:{url.port or 80}"
    return None


def _find(service: Service) -> str | None:
    beside = Path(sys.executable).parent / service.command
    return str(beside) if beside.exists() else shutil.which(service.command)
