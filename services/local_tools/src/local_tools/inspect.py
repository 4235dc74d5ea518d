"""Reads the session that a call belongs to, with the inspection token that came with the call.

Above: `main`. Below: `brain_client`. The token is good until the call returns, and for this one
session only; it is never logged and never part of an answer.
"""

from collections import Counter, deque
from typing import Any

from brain_client import AsyncBrain, BrainError, BrainUnavailable
from tool_service import Call, Result, ToolError

Json = dict[str, Any]

REPORT: Json = {
    "type": "object",
    "properties": {
        "session_id": {"type": "string"},
        "status": {"enum": ["idle", "running", "closed"]},
        "events": {"type": "integer", "minimum": 0},
        "by_type": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
        "last": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "seq": {"type": "integer", "minimum": 1},
                    "type": {"type": "string"},
                    "created_at": {"type": "string", "format": "date-time"},
                },
                "required": ["seq", "type", "created_at"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["session_id", "status", "events", "by_type", "last"],
    "additionalProperties": False,
}
"""The output schema: how many events of each type there are, and the last ones, oldest first."""

_PAGE = 1000


async def report(call: Call, last: int) -> Result:
    """The session's events, counted, and the last of them. Raises: ToolError."""
    if call.inspection_token is None or call.brain_url is None:
        raise ToolError('This tool\'s binding must have "inspect_session": true.')
    async with AsyncBrain(call.brain_url, call.inspection_token) as brain:
        try:
            found = await _read(brain, call.session_id, last)
        except (BrainError, BrainUnavailable) as error:
            raise ToolError(f"The session could not be read: {error}") from error
    return Result(text=_sentences(found), structured=found)


async def _read(brain: AsyncBrain, session_id: str, last: int) -> Json:
    session = await brain.call("GET", f"/sessions/{session_id}")
    counts: Counter[str] = Counter()
    latest: deque[Json] = deque(maxlen=last)
    query = {"after": 0, "limit": _PAGE}
    while True:
        page = await brain.call("GET", f"/sessions/{session_id}/events", query=query)
        counts.update(event["type"] for event in page["events"])
        latest += page["events"]
        query["after"] = page["next_after"]
        if not page["has_more"]:
            return _report(session, counts, latest)


def _report(session: Json, counts: Counter[str], latest: deque[Json]) -> Json:
    shown = ("seq", "type", "created_at")
    return {
        "session_id": session["id"],
        "status": session["status"],
        "events": counts.total(),
        "by_type": dict(counts),
        "last": [{name: event[name] for name in shown} for event in latest],
    }


def _sentences(found: Json) -> str:
    counts = ", ".join(f"{count} {kind}" for kind, count in found["by_type"].items())
    latest = "\n".join(f"{e['seq']} {e['created_at']} {e['type']}" for e in found["last"])
    summary = f"The session is {found['status']} and has {found['events']} events: {counts}."
    return f"{summary}\nThe last ones:\n{latest}"
