"""The whole check of a host config: every problem at once, or everything that is needed to start.

Above: the command line and the wiring. Below: `document`, `plain`, `shape`, and the rules between
fields and the environment, which are here.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from brain.config import plain
from brain.config.document import read
from brain.config.host import EngineConfig, HostConfig, ModelConfig
from brain.config.problem import Problem, as_list, as_object, pointer
from brain.config.providers import PROVIDERS
from brain.config.shape import validate
from brain.config.store import SQLITE, is_postgres, sqlite_path, store_problem

__all__ = ["CheckedConfig", "Problem", "check", "summary"]

SHORT_KEY = 16
_MAX_SOCKET_PATH = 107
"""Bytes that Linux leaves for the path of a Unix socket."""

_HEADER_SAFE = re.compile(r"[\x21-\x7e]+")
_DEFAULT_TENANTS = {"tenants": [{"id": "local", "api_keys_env": ["BRAIN_API_KEY"]}]}

Env = Mapping[str, str]
Document = dict[str, Any]


@dataclass(frozen=True)
class CheckedConfig:
    """A host config that may be started: paths are absolute, secrets are read.

    `api_keys` maps a tenant to its keys, `tool_tokens` a tool to its bearer token, `model_keys` a
    provider to its key.
    """

    host: HostConfig
    models: tuple[ModelConfig, ...]
    api_keys: Mapping[str, tuple[str, ...]] = field(repr=False)
    tool_tokens: Mapping[str, str] = field(repr=False)
    model_keys: Mapping[str, str] = field(repr=False)
    engine_key: str | None = field(repr=False)
    warnings: tuple[Problem, ...] = ()


def check(path: Path, env: Env) -> CheckedConfig | tuple[Problem, ...]:
    """Check a file against an environment. Contacts nobody and opens nothing but the file."""
    document = read(path)
    if isinstance(document, Problem):
        return (document,)
    if unfit := tuple(plain.problems(document)):
        return unfit
    shape = validate(document)
    wrong = list(shape) if isinstance(shape, tuple) else []
    entries = as_object(document)
    if entries is not None:
        known = {problem.pointer for problem in wrong}
        rules = _rules(entries, path.absolute().parent, env)
        wrong += [problem for problem in rules if problem.pointer not in known]
    if wrong or isinstance(shape, tuple):
        return tuple(sorted(wrong, key=lambda problem: problem.pointer))
    return _checked(shape, path.absolute().parent, env)


def summary(config: CheckedConfig) -> str:
    """One line that counts what the config declares."""
    counts = (
        (len(config.host.tools), "tool"),
        (len(config.models), "model"),
        (len(config.host.tenants), "tenant"),
    )
    return ", ".join(f"{n} {word}{'' if n == 1 else 's'}" for n, word in counts)


def _rules(document: Document, folder: Path, env: Env) -> Iterator[Problem]:
    """The rules between fields, and between the file and the environment.

    They take the document as it stands, so that one wrong field hides no other.
    """
    yield from _unique(document, "tools", "name")
    yield from _unique(document, "tenants", "id")
    yield from _unique(document, "models", "provider")
    yield from _store(document, env)
    yield from _engine(document, folder, env)
    yield from _api_keys(document, env)
    yield from _model_keys(document, env)
    tenants = {tenant.get("id") for _, tenant in _entries(document, "tenants")} or {"local"}
    for index, tool in _entries(document, "tools"):
        yield from _variable(tool.get("token_env"), env, "tools", index, "token_env")
        if tool.get("inspect_session") is True and tool.get("mcp_tool") is not None:
            where = pointer("tools", index, "inspect_session")
            yield Problem(where, "doesn't go with mcp_tool: an MCP server is sent no such token.")
        for position, tenant in enumerate(as_list(tool.get("tenants"))):
            if isinstance(tenant, str) and tenant not in tenants:
                where = pointer("tools", index, "tenants", position)
                yield Problem(where, f"names the tenant {tenant!r}, which isn't in /tenants.")


def _unique(document: Document, table: str, key: str) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for index, entry in _entries(document, table):
        value = entry.get(key)
        if not isinstance(value, str):
            continue
        if value in first:
            where = pointer(table, index, key)
            before = pointer(table, first[value], key)
            yield Problem(where, f"is {value!r}, which {before} is already; it must be unique.")
        first.setdefault(value, index)


def _store(document: Document, env: Env) -> Iterator[Problem]:
    name = document.get("store_env")
    if not isinstance(name, str):
        return
    where = pointer("store_env")
    if "store" in document:
        yield Problem(where, "is given beside /store; give one of the two.")
    elif not env.get(name):
        yield _unset(where, name)
    elif problem := store_problem(env[name]):
        yield Problem(where, f"names the variable {name}, whose value {problem}.")


def _engine(document: Document, folder: Path, env: Env) -> Iterator[Problem]:
    engine = as_object(document.get("engine", {}))
    if engine is None:
        return
    listen = engine.get("listen", EngineConfig().listen)
    if isinstance(listen, str) and listen.startswith("unix:"):
        length = len(bytes(folder / listen.removeprefix("unix:")))
        if length > _MAX_SOCKET_PATH:
            where = pointer("engine", "listen")
            yield Problem(
                where,
                f"is a path of {length} bytes, and a socket's path may have {_MAX_SOCKET_PATH}; "
                "choose a shorter one, for example unix:/run/brain/engine.sock.",
            )
    reached = [listen, *as_list(engine.get("connect"))]
    over_tcp = any(isinstance(each, str) and not each.startswith("unix:") for each in reached)
    if over_tcp and engine.get("key_env") is None:
        where = pointer("engine", "key_env")
        yield Problem(where, "is required unless the engine listens on unix:PATH.")
    yield from _variable(engine.get("key_env"), env, "engine", "key_env")


def _api_keys(document: Document, env: Env) -> Iterator[Problem]:
    owners: dict[str, object] = {}
    for index, tenant in _entries({**_DEFAULT_TENANTS, **document}, "tenants"):
        for position, name in enumerate(as_list(tenant.get("api_keys_env"))):
            yield from _variable(name, env, "tenants", index, "api_keys_env", position)
            key = env.get(name, "") if isinstance(name, str) else ""
            if key and owners.setdefault(key, index) != index:
                where = pointer("tenants", index, "api_keys_env", position)
                yield Problem(where, "holds a key that another tenant has; keys can't be shared.")


def _model_keys(document: Document, env: Env) -> Iterator[Problem]:
    for index, model in _entries(document, "models"):
        known = PROVIDERS.get(str(model.get("provider")))
        name = model.get("api_key_env", known.api_key_env if known else None)
        yield from _variable(name, env, "models", index, "api_key_env")


def _variable(name: object, env: Env, *where: str | int) -> Iterator[Problem]:
    """A variable must hold a secret that can be sent in an HTTP header."""
    if not isinstance(name, str):
        return
    value = env.get(name)
    if not value:
        yield _unset(pointer(*where), name)
    elif not _HEADER_SAFE.fullmatch(value):
        yield Problem(
            pointer(*where),
            f"names the variable {name}, whose value can't be sent as a bearer token: it must be "
            "visible ASCII characters, without spaces and line breaks.",
        )


def _unset(where: str, name: str) -> Problem:
    return Problem(where, f"names the variable {name}, which isn't set or is empty; set it.")


def _entries(document: Document, table: str) -> Iterator[tuple[int, Document]]:
    for index, value in enumerate(as_list(document.get(table))):
        entry = as_object(value)
        if entry is not None:
            yield index, entry


def _checked(host: HostConfig, folder: Path, env: Env) -> CheckedConfig:
    models = _models(host, env)
    return CheckedConfig(
        host=host.model_copy(update=_absolute(host, folder, env)),
        models=models,
        api_keys={
            tenant.id: tuple(env[name] for name in tenant.api_keys_env) for tenant in host.tenants
        },
        tool_tokens={tool.name: env[tool.token_env] for tool in host.tools if tool.token_env},
        model_keys={
            model.provider: env[model.api_key_env] for model in models if model.api_key_env
        },
        engine_key=env[host.engine.key_env] if host.engine.key_env else None,
        warnings=tuple(_warnings(host, env)),
    )


def _models(host: HostConfig, env: Env) -> tuple[ModelConfig, ...]:
    """What the file says, or else each known provider whose usual key variable is set."""
    if host.models is not None:
        return tuple(host.models)
    return tuple(
        ModelConfig(provider=name, **known._asdict())
        for name, known in PROVIDERS.items()
        if known.api_key_env and env.get(known.api_key_env)
    )


def _absolute(host: HostConfig, folder: Path, env: Env) -> dict[str, object]:
    store = env[host.store_env] if host.store_env else host.store
    return {
        "store": store if is_postgres(store) else f"{SQLITE}{folder / sqlite_path(store)}",
        "engine": host.engine.model_copy(update=_absolute_engine(host.engine, folder)),
    }


def _absolute_engine(engine: EngineConfig, folder: Path) -> dict[str, object]:
    tls = engine.tls
    if tls is not None:
        files = tls.model_dump(include={"certificate_file", "key_file", "authority_file"})
        update = {name: str(folder / file) for name, file in files.items() if file is not None}
        tls = tls.model_copy(update=update)
    return {
        "listen": _absolute_address(engine.listen, folder),
        "connect": [_absolute_address(each, folder) for each in engine.connect or [engine.listen]],
        "tls": tls,
    }


def _absolute_address(address: str, folder: Path) -> str:
    if address.startswith("unix:"):
        return f"unix:{folder / address.removeprefix('unix:')}"
    return address


def _warnings(host: HostConfig, env: Env) -> Iterator[Problem]:
    for index, tenant in enumerate(host.tenants):
        for position, name in enumerate(tenant.api_keys_env):
            if len(env[name]) < SHORT_KEY:
                where = pointer("tenants", index, "api_keys_env", position)
                yield Problem(
                    where, f"{name} holds fewer than {SHORT_KEY} characters: easy to guess."
                )
