"""`brain doctor`: what is wrong with a Brain on this machine, and what to do.

Below: `config.check`, `sqlite_copies`, `address`. Unlike `-check` it looks at the log and asks
processes and services whether they are there.
"""

import argparse
import json
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from brain.cli.address import answer_at
from brain.cli.home import API_KEY, Home
from brain.cli.services import SERVICES
from brain.cli.store import NoStore, config_file, sqlite_file
from brain.config.check import CheckedConfig, check, summary
from brain.engine.log.opening import LogCannotOpen
from brain.engine.log.sqlite_copies import examine, in_use

Verdict = Literal["ok", "note", "wrong"]
_LOW_DISK_BYTES = 1_000_000_000
_CONNECT_SECONDS = 3.0
_PORTS = {"http": 80, "https": 443}


class Finding(NamedTuple):
    """One thing that was looked at. A note is fine by itself and may explain what isn't."""

    verdict: Verdict
    what: str
    said: str


def doctor(given: argparse.Namespace) -> int:
    """Look at everything; the exit code is 1 if something is wrong."""
    try:
        path = config_file(given)
    except NoStore as error:
        print(f"brain doctor: {error}", file=sys.stderr)
        return 1
    found: list[Finding] = []
    for finding in _findings(path, _environment(given)):
        found.append(finding)
        _say(finding, as_json=given.json)
    return 1 if any(finding.verdict == "wrong" for finding in found) else 0


def _say(finding: Finding, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(finding._asdict()), flush=True)
    else:
        print(f"{finding.verdict:5}  {finding.what:8}  {finding.said}", flush=True)


def _environment(given: argparse.Namespace) -> dict[str, str]:
    """The environment as `brain up` would make it, if this is what it made."""
    env = dict(os.environ)
    if given.host_config is not None:
        return env
    for name, file in {API_KEY: "api_key", **{s.key_env: s.key_file for s in SERVICES}}.items():
        path = Home(given.home, {}).path / file
        if path.exists():
            env.setdefault(name, path.read_text("ascii", errors="replace").strip())
    return env


def _findings(path: Path, env: dict[str, str]) -> Iterator[Finding]:
    config = check(path, env)
    if not isinstance(config, CheckedConfig):
        yield from (Finding("wrong", "config", f"{path}: {problem}") for problem in config)
    else:
        yield Finding("ok", "config", f"{path}: {summary(config)}")
        yield from (Finding("note", "config", str(warning)) for warning in config.warnings)
    try:
        store = sqlite_file(path)
    except NoStore as error:
        yield Finding("note", "store", str(error))
    else:
        yield from _store(store)
    if isinstance(config, CheckedConfig):
        yield from _processes(config)
        yield from _services(config)


def _store(path: Path) -> Iterator[Finding]:
    folder = next(parent for parent in path.parents if parent.exists())
    if not os.access(folder, os.W_OK):
        yield Finding("wrong", "store", f"{folder} can't be written. Let Brain's user write there.")
    free = shutil.disk_usage(folder).free
    if free < _LOW_DISK_BYTES:
        said = f"{free / 1_000_000:.0f} MB are free in {folder}. A full disk takes no messages."
        yield Finding("wrong", "disk", f"{said} Make room.")
    if not path.exists():
        yield Finding("note", "store", f"{path} isn't there yet; the first start makes it.")
        return
    try:
        contents = examine(path)
        used = "in use by an engine" if in_use(path) else "not in use"
    except LogCannotOpen as error:
        yield Finding("wrong", "store", str(error))
    else:
        told = f"{contents.sessions} sessions, {contents.events} events, whole, {used}"
        yield Finding("ok", "store", f"{path}: {told}")


def _processes(config: CheckedConfig) -> Iterator[Finding]:
    host = config.host
    engine = answer_at(host.engine.listen, None).ready
    if engine:
        yield Finding("ok", "engine", f"it listens on {host.engine.listen}")
    else:
        yield Finding("note", "engine", f"nothing listens on {host.engine.listen}: not running?")
    edge = answer_at(host.listen, "/readyz")
    if edge.ready:
        yield Finding("ok", "edge", f"it is ready on {host.listen}")
    elif answer_at(host.listen, "/healthz").ready:
        said = f"it runs on {host.listen} and isn't ready: {edge.said}"
        yield Finding("wrong", "edge", f"{said}. The engine's log says why.")
    else:
        yield Finding("note", "edge", f"nothing answers on {host.listen}: not running?")


def _services(config: CheckedConfig) -> Iterator[Finding]:
    places: dict[tuple[str, int], list[str]] = {}
    for tool in config.host.tools:
        url = urlsplit(tool.url)
        place = (url.hostname or "", url.port or _PORTS[url.scheme])
        places.setdefault(place, []).append(tool.name)
    for (host, port), names in places.items():
        tools = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        trouble = _trouble(host, port)
        if trouble is None:
            yield Finding("ok", "tools", f"{host}:{port} takes connections: {tools}")
        else:
            said = f"{host}:{port} can't be reached ({trouble}): {tools}"
            yield Finding("wrong", "tools", f"{said}. Start it, or mend the urls.")


def _trouble(host: str, port: int) -> str | None:
    try:
        socket.create_connection((host, port), _CONNECT_SECONDS).close()
    except OSError as error:
        return error.strerror or str(error)
    return None
