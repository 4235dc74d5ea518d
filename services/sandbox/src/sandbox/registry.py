"""The providers by name, imported when they are chosen. Above: `service`. Below: `providers`."""

import importlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from sandbox.provider import Provider, Setup
from sandbox.scripted import Scripted
from tool_service import CannotServe

VARIABLE = "SANDBOX_PROVIDER"


class Kind(Struct, frozen=True):
    """A provider as it can be chosen.

    `module` has `remote` (or, on this machine, `provider`). `extra` is what to install for it.
    `about` is for the tools' descriptions: what a sandbox of it is, and what it can't do.
    """

    module: str
    extra: str | None
    about: str


KINDS: Mapping[str, Kind] = {
    "local": Kind("sandbox.local.provider", None, "It is a small Linux system."),
    "e2b": Kind("sandbox.providers.e2b", "e2b", "It is a Linux machine of its own."),
    "modal": Kind("sandbox.providers.modal", "modal", "It is a Linux container of its own."),
    "daytona": Kind("sandbox.providers.daytona", "daytona", "It is a Linux machine of its own."),
}


def chosen(env: Mapping[str, str]) -> str:
    """The name in SANDBOX_PROVIDER, or `local`. Raises: CannotServe."""
    name = env.get(VARIABLE) or "local"
    if name not in KINDS:
        raise CannotServe(f"{VARIABLE} is {name!r}; it must be one of {', '.join(KINDS)}.")
    return name


@asynccontextmanager
async def opened(name: str, setup: Setup) -> AsyncGenerator[Provider]:
    """The provider, ready to use. Raises: CannotServe."""
    kind = KINDS[name]
    module = _imported(name, kind)
    if kind.extra is None:
        async with asynccontextmanager(module.provider)(setup) as provider:
            yield provider
    else:
        async with asynccontextmanager(module.remote)(setup) as remote:
            yield Scripted(remote)


def _imported(name: str, kind: Kind) -> Any:
    try:
        return importlib.import_module(kind.module)
    except ModuleNotFoundError as error:
        raise CannotServe(
            f"{VARIABLE}={name} needs the package {error.name}, which isn't installed: "
            f"pip install 'brain-sandbox[{kind.extra}]'."
        ) from error
