"""`brain sessions` and `brain events`: what there is to read. Below: `connect`, `plain`."""

import argparse
import json
from typing import Any

from brain.cli.connect import find_session, with_brain
from brain.cli.plain import plain
from brain.cli.say import compact
from brain_client import AsyncBrain
from brain_client.types import Event, SessionData

Json = dict[str, Any]
_PAGE = 200
_MAX_SHOWN = 300


def sessions(given: argparse.Namespace) -> int:
    """Print the newest sessions, one a line; gives the exit code."""

    async def read(brain: AsyncBrain) -> int:
        query: Json = {"status": given.status} if given.status else {}
        left: int = given.limit
        while left > 0:
            page = await brain.sessions(limit=min(left, _PAGE), **query)
            for session in page["sessions"]:
                _print(json.dumps(session) if given.json else _session_line(session))
            left -= len(page["sessions"])
            if page["next_cursor"] is None:
                break
            query["cursor"] = page["next_cursor"]
        return 0

    return with_brain(given, read)


def events(given: argparse.Namespace) -> int:
    """Print a session's events, one a line; gives the exit code."""

    def show(event: Event) -> None:
        _print(json.dumps(event) if given.json else _event_line(event))

    async def read(brain: AsyncBrain) -> int:
        session = await find_session(brain, given.session)
        if given.follow:
            async for event in session.events(after=given.after):
                show(event)
            return 0
        after, more = given.after, True
        while more:
            page = await brain.call("GET", f"/sessions/{session.id}/events", query={"after": after})
            for event in page["events"]:
                show(event)
            after, more = page["next_after"], page["has_more"]
        return 0

    return with_brain(given, read)


def _session_line(session: SessionData) -> str:
    config: Json = session["config"]
    tools = ",".join(config.get("tools", ()))
    parts = (session["id"], f"{session['status']:<7}", session["created_at"], config["model"])
    return "  ".join((*parts, tools)).rstrip()


def _event_line(event: Event) -> str:
    """Its number (a dot for a live one), its time, its type, its data."""
    time = event.get("created_at", "")[11:23]
    data = compact(event["data"], _MAX_SHOWN)
    return f"{event.get('seq', '·'):>5}  {time:<12}  {event['type']:<17}  {data}"


def _print(line: str) -> None:
    print(plain(line), flush=True)
