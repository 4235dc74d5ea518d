"""A service's command line. Above: `service`. Below: `serve`, `logs`."""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from tool_service.logs import configure
from tool_service.resource import CannotServe
from tool_service.serve import address, until_told_to_stop

if TYPE_CHECKING:
    from tool_service.service import ToolService

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Command(Struct, frozen=True):
    """One more command of a service. `run` gives the exit code."""

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def run_command(service: "ToolService", arguments: Sequence[str] | None) -> None:
    """Do what the arguments say, and exit."""
    given = _parser(service).parse_args(arguments)
    given.data = Path(given.data)
    try:
        sys.exit(given.run(given))
    except CannotServe as error:
        print(f"brain-{service.name}: {error}", file=sys.stderr)
        sys.exit(1)


def _serve(service: "ToolService", given: argparse.Namespace) -> int:
    host, port = address("--listen", given.listen)
    token = _token(service.token_env, host, without=given.insecure_no_token)
    metrics = address("--metrics", given.metrics) if given.metrics else None
    configure()

    async def serve() -> None:
        async with service.running(token, data=given.data, host=host, port=port, metrics=metrics):
            await until_told_to_stop()

    asyncio.run(serve())
    return 0


def _bindings(service: "ToolService", given: argparse.Namespace) -> int:
    print(json.dumps(service.bindings(given.url, given.tenant or ["local"]), indent=2))
    return 0


def _host_config(service: "ToolService", given: argparse.Namespace) -> int:
    tenants = given.tenant or ["local"]
    keys = ["BRAIN_API_KEY"] if len(tenants) == 1 else [_key_variable(each) for each in tenants]
    document = {
        "tenants": [
            {"id": tenant, "api_keys_env": [key]} for tenant, key in zip(tenants, keys, strict=True)
        ],
        "tools": service.bindings(given.url, tenants),
    }
    print(json.dumps(document, indent=2))
    return 0


def _key_variable(tenant: str) -> str:
    return "BRAIN_API_KEY_" + "".join(c if c.isalnum() else "_" for c in tenant).upper()


def _token(variable: str, host: str, *, without: bool) -> str | None:
    token = os.environ.get(variable)
    if token:
        return token
    if without and host in _LOOPBACK:
        return None
    raise CannotServe(
        f"{variable} isn't set: set it to the token that Brain sends, or, on loopback only, start "
        "with --insecure-no-token."
    )


def _parser(service: "ToolService") -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"brain-{service.name}",
        description=f"Serve the tools {', '.join(service.tools)}; or run one of the commands.",
    )
    parser.set_defaults(run=partial(_serve, service))
    _add_serving(parser, service)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    printing = (
        ("bindings", "print the tools' bindings for Brain's host config", _bindings),
        ("host-config", "print a whole host config with these tools", _host_config),
    )
    for name, says, run in printing:
        command = commands.add_parser(name, help=says, description=says)
        _add_printing(command, service, needs_url=name == "bindings")
        command.set_defaults(run=partial(run, service))
    for more in service.commands:
        command = commands.add_parser(more.name, help=more.help, description=more.help)
        more.add_arguments(command)
        command.set_defaults(run=more.run)
    return parser


def _add_serving(parser: argparse.ArgumentParser, service: "ToolService") -> None:
    listen = f"127.0.0.1:{service.port}"
    data = f".brain/{service.name}"
    parser.add_argument(
        "--listen", default=listen, metavar="HOST:PORT", help=f"its address ({listen})"
    )
    parser.add_argument(
        "--data", default=data, metavar="DIR", help=f"where it keeps its data ({data})"
    )
    parser.add_argument(
        "--metrics", metavar="HOST:PORT", help="serve /metrics there; off without it"
    )
    parser.add_argument(
        "--insecure-no-token", action="store_true", help="serve without a token, on loopback"
    )


def _add_printing(
    command: argparse.ArgumentParser, service: "ToolService", *, needs_url: bool
) -> None:
    here = f"http://127.0.0.1:{service.port}"
    where = "where Brain reaches the service" + ("" if needs_url else f" ({here})")
    command.add_argument("--url", required=needs_url, default=here, metavar="BASE", help=where)
    command.add_argument(
        "--tenant", action="append", metavar="ID", help="who may use the tools (local); repeat it"
    )
