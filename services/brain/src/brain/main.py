"""The `brain` command: reads its arguments and hands over. Below: `cli`.

Exit codes: 0 done, 1 it could not be done, 2 the arguments make no sense, 130 stopped by Ctrl-C.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

_EXAMPLES = """\
first steps:
  brain up                                  run everything here, with keys and a config made for you
  brain chat                                talk to it

in production:
  brain -config brain.json -check           check a host config; every problem, one a line
  brain -config brain.json                  run an engine and an edge
  brain -config brain.json --role engine    run one of them
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    # gRPC's C core writes to stderr by itself; what matters is in our own logs.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        sys.exit(_run(parser, given))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # our output is piped into something that has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _run(parser: argparse.ArgumentParser, given: argparse.Namespace) -> int:
    # Each command imports what it needs: `brain -check` must not wait for a server's imports.
    if given.command == "up":
        from brain.cli.up import up  # noqa: PLC0415

        return up(given)
    if given.command == "chat":
        from brain.cli.chat import chat  # noqa: PLC0415

        return chat(given)
    if given.config is None:
        parser.print_help(sys.stderr)
        return 2
    from brain.cli.serve import check_only, serve  # noqa: PLC0415

    return check_only(given.config) if given.check else serve(given.config, given.role)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="brain",
        description="Brain, a self-hosted, multi-tenant server for AI agents.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("-config", "--config", type=Path, metavar="FILE", help="the host config")
    parser.add_argument(
        "-check", "--check", action="store_true", help="check the config, start nothing"
    )
    parser.add_argument("--role", choices=("edge", "engine"), help="run only this process")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_up(commands.add_parser("up", help="run everything on this machine"))
    _add_chat(commands.add_parser("chat", help="talk to an agent in the terminal"))
    return parser


def _add_up(parser: argparse.ArgumentParser) -> None:
    parser.description = "Run engine, edge and tool services on this machine, from one folder."
    parser.add_argument(
        "--home", type=Path, default=Path(".brain"), metavar="DIR", help="keys, config and data"
    )
    parser.add_argument("--port", type=int, help="the HTTP API's port, 8080 (first start only)")
    parser.add_argument("--tools-port", type=int, help="the tools' port, 8081 (first start only)")


def _add_chat(parser: argparse.ArgumentParser) -> None:
    parser.description = "Open a session and talk. Ctrl-C interrupts; a second one ends the chat."
    parser.add_argument(
        "--home",
        type=Path,
        default=Path(".brain"),
        metavar="DIR",
        help="what `brain up` made",
    )
    parser.add_argument("--url", help="where Brain is (or BRAIN_URL)")
    parser.add_argument("--key", help="the API key (or BRAIN_API_KEY, or the home's)")
    parser.add_argument("--model", default="demo/script", help="the model, as provider/model")
    parser.add_argument("--tools", metavar="A,B", help="tools to enable; all of them by default")
    parser.add_argument("--session", metavar="ID", help="go on with this session")
