"""`brain-local-tools approvals`: the inbox in a terminal. Above: `service`. Below: `client`.

What an agent wrote is shown with its control characters spelled out, so that it can't move the
cursor, change colours, or show other words than it has.
"""

import argparse
import json
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from local_tools.approvals.client import Client, Failed, client
from local_tools.approvals.operators import KEY_FILE
from tool_service import Command

KEY = "APPROVALS_KEY"
Json = dict[str, Any]
Act = Callable[[Client, argparse.Namespace], None]


def approvals_command(url: str) -> Command:
    """The command, for a service that is usually at `url`."""
    return Command(
        "approvals", "answer what agents ask for approval", partial(_add_arguments, url), _run
    )


def _add_arguments(url: str, parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        f"The operator's key is in {KEY}, or else in the file {KEY_FILE} of the data folder."
    )
    parser.add_argument("--url", default=url, help=f"where the service is ({url})")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    listing = _add(commands, "list", "show what waits for an answer", _list)
    listing.add_argument("--all", action="store_true", help="show what was answered, too")
    listing.add_argument("--json", action="store_true", help="print JSON")
    for answer in ("yes", "no"):
        answering = _add(commands, answer, f"answer {answer}", partial(_answer, answer))
        answering.add_argument("call_id", metavar="CALL_ID", help="which request, from the list")
        answering.add_argument("--comment", metavar="TEXT", help="a word for the agent and the log")
    log = _add(commands, "log", "show the audit log, oldest first", _log)
    log.add_argument("--json", action="store_true", help="print an entry a line, as JSON")


def _add(commands: Any, name: str, says: str, act: Act) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=says, description=says)
    parser.set_defaults(act=act)
    return parser


def _run(given: argparse.Namespace) -> int:
    try:
        with client(given.url, given.data) as inbox:
            given.act(inbox, given)
    except Failed as failed:
        print(f"brain-local-tools: {plain(str(failed))}", file=sys.stderr)
        return 1
    return 0


def _list(inbox: Client, given: argparse.Namespace) -> None:
    found = inbox.get("/approvals" if given.all else "/approvals?status=pending")
    if given.json:
        print(json.dumps(found, indent=2))
        return
    for approval in found["approvals"]:
        print(_shown(approval), end="\n\n")
    if not found["approvals"]:
        print("Nothing was asked yet." if given.all else "Nothing waits for an answer.")


def _answer(answer: str, inbox: Client, given: argparse.Namespace) -> None:
    comment = {} if given.comment is None else {"comment": given.comment}
    done = inbox.answer(given.call_id, {"answer": answer, **comment})["approval"]
    print(f"Answered {answer}, as {plain(done['decided_by'])}: {plain(done['action'])}")


def _log(inbox: Client, given: argparse.Namespace) -> None:
    for entry in inbox.log():
        if given.json:
            print(json.dumps(entry))
            continue
        who = f" by {plain(entry['operator'])}" if entry["operator"] else ""
        said = f" ({plain(entry['comment'])})" if entry["comment"] else ""
        print(
            f"{entry['at']} {entry['answer']}{who}: {plain(entry['action'])}{said} "
            f"[{plain(entry['tenant_id'])} {plain(entry['call_id'])} {entry['arguments_sha256']}]"
        )


def _shown(approval: Json) -> str:
    details = "\n".join("    " + plain(line) for line in approval["details"].split("\n"))
    state = f"until {approval['expires_at']}"
    if approval["status"] != "pending":
        by = f" by {plain(approval['decided_by'])}" if approval["decided_by"] else ""
        state = f"{approval['status']}{by} at {approval['decided_at']}"
    return (
        f"{plain(approval['action'])}\n"
        f"  {plain(approval['call_id'])}  tenant {plain(approval['tenant_id'])}  "
        f"session {plain(approval['session_id'])}\n"
        f"  asked {approval['requested_at']}, {state}\n{details}"
    )


def plain(text: str) -> str:
    """The text on one line, whatever can't be seen spelled out as `\\x1b` or `\\u202e`."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
