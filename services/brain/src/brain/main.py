"""The `brain` command: reads its arguments and hands over. Below: `cli`.

Exit codes: 0 done, 1 it can't be done, 2 the arguments make no sense, 130 stopped by Ctrl-C.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from brain.cli.arguments import parser

_COMMANDS = {
    "up": ("brain.cli.up", "up"),
    "chat": ("brain.cli.chat", "chat"),
    "sessions": ("brain.cli.reading", "sessions"),
    "events": ("brain.cli.reading", "events"),
    "usage": ("brain.cli.usage", "usage"),
    "doctor": ("brain.cli.doctor", "doctor"),
    "backup": ("brain.cli.store", "backup"),
    "restore": ("brain.cli.store", "restoring"),
    "mcp": ("brain.cli.mcp", "mcp"),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    # gRPC's C core writes to stderr by itself; what matters is in our own logs.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    _print_anything()
    try:
        sys.exit(_run(arguments))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # our output is piped into something that has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _run(arguments: Sequence[str] | None) -> int:
    root = parser()
    given = root.parse_args(arguments)
    if given.command is not None:
        if given.config or given.check or given.role:
            root.error(f"-config, -check and --role don't go with {given.command}")
        return _command(given)
    if given.config is None:
        if given.check or given.role:
            root.error("-check and --role need -config FILE")
        root.print_help(sys.stderr)
        return 2
    from brain.cli.serve import check_only, serve  # noqa: PLC0415

    return check_only(given.config) if given.check else serve(given.config, given.role)


def _command(given: argparse.Namespace) -> int:
    # Each command imports what it needs: `brain chat` must not wait for a server's imports.
    module, function = _COMMANDS[given.command]
    run: Callable[[argparse.Namespace], int] = getattr(import_module(module), function)
    return run(given)


def _print_anything() -> None:
    """Let no letter that a terminal doesn't know end a command."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
