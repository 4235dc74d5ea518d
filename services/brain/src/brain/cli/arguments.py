"""The arguments of `brain`, its help and its examples. Above: `main`."""

import argparse
from pathlib import Path

_EXAMPLES = """\
first steps:
  brain up                                  run everything here, with keys and a config made for you
  brain chat                                talk to it

in production:
  brain -config brain.json -check           check a host config; every problem, one a line
  brain -config brain.json                  run an engine and an edge
  brain -config brain.json --role engine    run one of them

exit codes:
  0  done, or stopped as asked
  1  it can't be done: what is wrong is said on stderr
  2  the arguments make no sense
  130  stopped by Ctrl-C
"""
_UP = """\
examples:
  brain up                                  everything in .brain, on ports 8080 and 8081
  brain up --home demo --port 9000 --tools-port 9001
"""
_CHAT = """\
examples:
  brain chat                                with what `brain up` made in .brain
  brain chat --model openai/gpt-4.1-mini    with a real model
  brain chat --tools echo --system "Be brief."
  brain chat --session SESSION              go on where you left off
  echo hello | brain chat                   one message a line; 1 if a turn doesn't come to its end
  brain chat --url https://brain.example

In the chat, /image PATH attaches an image to the next message, and /help says what else there is.
Ctrl-C interrupts the running turn.

exit codes:
  0    you ended it, or every turn of a script came to its end
  1    it can't be done, or a script's turn didn't come to its end
  2    the arguments make no sense
  130  a script was stopped by Ctrl-C
"""
_SESSIONS = """\
examples:
  brain sessions --status running
  brain sessions --limit 1000 --json        one JSON object a line
"""
_EVENTS = """\
examples:
  brain events SESSION                      what has happened, one event a line
  brain events SESSION --after 12 --follow  and what happens from now on, until Ctrl-C
  brain events SESSION --json               one JSON object a line
"""
_USAGE = """\
examples:
  brain usage                               all that your tenant has used, by day and model
  brain usage --from 2026-12-01 --to 2026-12-31 --json
"""
_DOCTOR = """\
examples:
  brain doctor                              of what `brain up` made in .brain
  brain doctor --config brain.json --json   one JSON object a line
"""
_BACKUP = """\
examples:
  brain backup monday.db                    of what `brain up` made in .brain
  brain backup --config brain.json /backups/monday.db
"""
_RESTORE = """\
examples:
  brain restore monday.db --replace
"""
_MCP = """\
examples:
  brain mcp discover http://127.0.0.1:3001/mcp              print bindings for its tools
  brain mcp discover http://127.0.0.1:3001/mcp --merge .brain/brain.json
  brain mcp discover https://mcp.example/mcp --token-env MCP_KEY --tenant acme --prefix docs_
"""


_THINKING = ("off", "low", "medium", "high")


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    root = _formatted(argparse.ArgumentParser(prog="brain", allow_abbrev=False), _EXAMPLES)
    root.description = "Brain, a self-hosted, multi-tenant server for AI agents."
    root.add_argument("-config", "--config", type=Path, metavar="FILE", help="the host config")
    root.add_argument(
        "-check", "--check", action="store_true", help="check the config, start nothing"
    )
    root.add_argument("--role", choices=("edge", "engine"), help="run only this process")
    commands = root.add_subparsers(dest="command", metavar="COMMAND")
    _add_up(commands.add_parser("up", help="run everything on this machine"))
    _add_chat(commands.add_parser("chat", help="talk to an agent in the terminal"))
    _add_sessions(commands.add_parser("sessions", help="list sessions, newest first"))
    _add_events(commands.add_parser("events", help="read what happened in a session"))
    _add_usage(commands.add_parser("usage", help="say what was used, by day and model"))
    _add_doctor(commands.add_parser("doctor", help="say what is wrong, and what to do"))
    _add_backup(commands.add_parser("backup", help="copy the log, while it is in use"))
    _add_restore(commands.add_parser("restore", help="put a copy of the log in its place"))
    _add_mcp(commands.add_parser("mcp", help="find out what an MCP server offers"))
    return root


def _add_up(up: argparse.ArgumentParser) -> None:
    up.description = "Run engine, edge and tool services on this machine, from one folder."
    _add_home(_formatted(up, _UP), "where keys, config and data are kept")
    up.add_argument("--port", type=_port, help="the HTTP API's port, 8080 (first start only)")
    up.add_argument("--tools-port", type=_port, help="the tools' port, 8081 (first start only)")


def _add_chat(chat: argparse.ArgumentParser) -> None:
    chat.description = "Open a session and talk. Ctrl-C interrupts; a second one ends the chat."
    _add_access(_formatted(chat, _CHAT))
    chat.add_argument("--model", help="the model, as provider/model; demo/script by default")
    chat.add_argument("--tools", metavar="A,B", help="tools to enable; all of them by default")
    chat.add_argument("--system", metavar="TEXT", help="instructions for the model")
    chat.add_argument("--thinking", choices=_THINKING, help="how much the model is to think")
    chat.add_argument("--hide-thinking", action="store_true", help="don't show what it thinks")
    chat.add_argument("--session", metavar="ID", help="go on with this session, as it is")
    chat.add_argument("--json", action="store_true", help="one event a line, as JSON")


def _add_sessions(sessions: argparse.ArgumentParser) -> None:
    sessions.description = "List your tenant's sessions, newest first."
    _add_access(_formatted(sessions, _SESSIONS))
    sessions.add_argument("--status", choices=("idle", "running", "closed"), help="only these")
    sessions.add_argument("--limit", type=_count, default=20, help="at most so many, 20")
    sessions.add_argument("--json", action="store_true", help="one JSON object a line")


def _add_events(events: argparse.ArgumentParser) -> None:
    events.description = "Print a session's events in their order."
    _add_access(_formatted(events, _EVENTS))
    events.add_argument("session", metavar="SESSION", help="the session's id")
    events.add_argument("--after", type=_count, default=0, metavar="SEQ", help="only later ones")
    events.add_argument("--follow", action="store_true", help="go on with what happens")
    events.add_argument("--json", action="store_true", help="one JSON object a line")


def _add_usage(usage: argparse.ArgumentParser) -> None:
    usage.description = "Sum up the tokens and the cost of your tenant's model calls."
    _add_access(_formatted(usage, _USAGE))
    usage.add_argument(
        "--from", dest="first_day", metavar="DAY", help="not before this day, 2026-12-31"
    )
    usage.add_argument(
        "--to", dest="last_day", metavar="DAY", help="not after this day; days are in UTC"
    )
    usage.add_argument("--json", action="store_true", help="one JSON object a line")


def _add_doctor(doctor: argparse.ArgumentParser) -> None:
    doctor.description = "Look at the config, the log, the processes and the tool services."
    _add_config(_formatted(doctor, _DOCTOR))
    doctor.add_argument("--json", action="store_true", help="one JSON object a line")


def _add_backup(backup: argparse.ArgumentParser) -> None:
    backup.description = "Copy the SQLite log as it is now; whoever uses it goes on."
    _add_config(_formatted(backup, _BACKUP))
    backup.add_argument("file", type=Path, metavar="FILE", help="where to; it mustn't be there")


def _add_restore(restore: argparse.ArgumentParser) -> None:
    restore.description = "Put a copy in the SQLite log's place. Brain must be stopped."
    _add_config(_formatted(restore, _RESTORE))
    restore.add_argument("file", type=Path, metavar="FILE", help="a copy by `brain backup`")
    restore.add_argument(
        "--replace", action="store_true", help="move what is there aside, instead of refusing"
    )


def _add_mcp(mcp: argparse.ArgumentParser) -> None:
    verbs = _formatted(mcp, _MCP).add_subparsers(dest="verb", metavar="discover", required=True)
    discover = _formatted(verbs.add_parser("discover", help="its tools, as bindings"), _MCP)
    discover.description = (
        "List an MCP server's tools, and make bindings for a host config of them."
    )
    discover.add_argument("url", metavar="URL", help="the server's endpoint (Streamable HTTP)")
    discover.add_argument("--token-env", metavar="NAME", help="the variable that holds its token")
    discover.add_argument(
        "--tenant", action="append", metavar="ID", help="who may use the tools; local by default"
    )
    discover.add_argument("--prefix", default="", metavar="P", help="what their names begin with")
    discover.add_argument("--merge", type=Path, metavar="FILE", help="put them into a host config")
    discover.add_argument("--yes", action="store_true", help="write the file without asking")


def _add_config(parser: argparse.ArgumentParser) -> None:
    _add_home(parser, "what `brain up` made")
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        dest="host_config",  # not the root's own
        help="the host config, if not that",
    )


def _add_access(parser: argparse.ArgumentParser) -> None:
    _add_home(parser, "what `brain up` made; tells the address and the key")
    parser.add_argument("--url", help="where Brain is (or BRAIN_URL, or what the home says)")
    parser.add_argument("--key", help="the API key (or BRAIN_API_KEY, or what the home holds)")


def _add_home(parser: argparse.ArgumentParser, help_: str) -> None:
    default = Path(".brain")
    parser.add_argument("--home", type=Path, default=default, metavar="DIR", help=help_)


def _formatted(parser: argparse.ArgumentParser, examples: str) -> argparse.ArgumentParser:
    parser.epilog = examples
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    return parser


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65_535:
        raise argparse.ArgumentTypeError(f"{text} isn't a port from 1 to 65535")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} isn't a number from 0")
    return int(text)
