"""A tool service: its tools, its bindings, its command line. Above: whoever writes one.

Below: `tool`, `app`, `serve`.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tool_service.app import create_app
from tool_service.serve import CannotServe, serve
from tool_service.tool import Function, Json, Tool, make_tool

_DEFAULT_MAX_OUTPUT = 1024 * 1024


class ToolService:
    """A service with any number of tools, each at `POST /tools/NAME`.

    `token_env` names the variable with the bearer token that Brain sends. `port` is where it
    listens, on loopback, unless `--listen` says otherwise.
    """

    def __init__(self, name: str, *, token_env: str, port: int) -> None:
        self.name = name
        self.token_env = token_env
        self.port = port
        self.data = Path()
        self.tools: dict[str, Tool] = {}

    def tool(
        self,
        description: str,
        *,
        name: str | None = None,
        input_schema: Json | None = None,
        output_schema: Json | None = None,
        inspect_session: bool = False,
        timeout_seconds: int = 300,
    ) -> Callable[[Function], Function]:
        """Make a tool of an async function, or of an async generator that yields progress.

        The function's name is the tool's and its typed parameters are the arguments, unless `name`
        and `input_schema` say otherwise. A generator's last yield is a `Result`.
        """

        def register(function: Function) -> Function:
            made = make_tool(
                function,
                description,
                name=name,
                input_schema=input_schema,
                output_schema=output_schema,
                inspect_session=inspect_session,
                timeout_seconds=timeout_seconds,
            )
            self.tools[made.name] = made
            return function

        return register

    def bindings(self, url: str, tenants: Sequence[str] = ("local",)) -> list[Json]:
        """The tools' bindings, ready for the `tools` of Brain's host config."""
        return [self._binding(tool, url.rstrip("/"), tenants) for tool in self.tools.values()]

    def main(self, arguments: Sequence[str] | None = None) -> None:
        """The service's command line: serve, or print bindings."""
        given = self._parser().parse_args(arguments)
        if given.command == "bindings":
            print(json.dumps(self.bindings(given.url, given.tenant or ["local"]), indent=2))  # noqa: T201
            return
        try:
            host, port = self._address(given.listen)
            token = self._token(host, without=given.insecure_no_token)
            self.data = Path(given.data)
            serve(create_app(self.tools, token), host, port)
        except CannotServe as error:
            print(f"{self.name}: {error}", file=sys.stderr)  # noqa: T201
            sys.exit(1)

    def _binding(self, tool: Tool, url: str, tenants: Sequence[str]) -> Json:
        binding: dict[str, Any] = {
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.input_schema,
        }
        if tool.output_schema is not None:
            binding["output_schema"] = tool.output_schema
        binding |= {
            "url": f"{url}/tools/{tool.name}",
            "token_env": self.token_env,
            "tenants": list(tenants),
            "timeout_seconds": tool.timeout_seconds,
            "max_output_bytes": _DEFAULT_MAX_OUTPUT,
        }
        return {**binding, "inspect_session": True} if tool.inspect_session else binding

    def _token(self, host: str, *, without: bool) -> str | None:
        token = os.environ.get(self.token_env)
        if token:
            return token
        if without and host in ("127.0.0.1", "::1", "localhost"):
            return None
        raise CannotServe(
            f"{self.token_env} isn't set: set it to the token that Brain sends, or, on loopback "
            "only, start with --insecure-no-token."
        )

    def _address(self, listen: str) -> tuple[str, int]:
        host, _, port = listen.rpartition(":")
        if not host or not port.isdecimal() or int(port) > 65_535:
            raise CannotServe(f"--listen must be HOST:PORT, for example 127.0.0.1:{self.port}.")
        return host.strip("[]"), int(port)

    def _parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(
            prog=f"brain-{self.name}", description=f"Serve the tools {', '.join(self.tools)}."
        )
        parser.add_argument(
            "--listen",
            default=f"127.0.0.1:{self.port}",
            metavar="HOST:PORT",
            help="its address",
        )
        parser.add_argument("--data", default=".", metavar="DIR", help="where it keeps its data")
        parser.add_argument(
            "--insecure-no-token", action="store_true", help="serve without a token, on loopback"
        )
        commands = parser.add_subparsers(dest="command", metavar="COMMAND")
        bindings = commands.add_parser("bindings", help="print the bindings for the host config")
        bindings.add_argument("--url", required=True, metavar="BASE", help="where Brain reaches it")
        bindings.add_argument("--tenant", action="append", metavar="ID", help="who may use them")
        return parser
