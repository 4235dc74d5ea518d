"""A session of a whole Brain that uses an MCP server, as its clients see it. Above: tests.

Below: `api`, `reading`.
"""

from collections.abc import Sequence
from typing import Any

from brain_testing.api import Api, Frame
from brain_testing.desk import within
from brain_testing.reading import read_until

Json = dict[str, Any]


async def turn(api: Api, *calls: str, tools: Sequence[str]) -> list[Frame]:
    """A turn of a new session in which `demo/script` makes these calls; all that happened."""
    session_id = await api.create(*tools)
    async with api.follow(session_id) as frames:
        await within(anext(frames))  # `session.state`: from here on nothing is missed
        await api.send(session_id, script(calls))
        return await within(read_until(frames, "turn.completed"))


async def interrupted(api: Api, call: str, *, tools: Sequence[str]) -> Json:
    """Interrupt a call once it has reported progress, and close the session; its result."""
    session_id = await api.create(*tools)
    async with api.follow(session_id) as frames:
        await within(anext(frames))
        await api.send(session_id, script([call]))
        await within(read_until(frames, "tool.progress"))
        await api.http.post(f"/sessions/{session_id}/interrupt")
        seen = await within(read_until(frames, "turn.interrupted"))
    (ended,) = results(seen).values()
    await api.http.post(f"/sessions/{session_id}/close")
    return ended


def script(calls: Sequence[str]) -> str:
    """What makes `demo/script` call tools: `script(['echo {"text":"hi"}'])`."""
    return "\n".join(f"/call {call}" for call in calls)


def results(frames: Sequence[Frame]) -> dict[str, Json]:
    """The data of each `tool.result`, by the name of its tool."""
    found = (frame.data["data"] for frame in frames if frame.event == "tool.result")
    return {result["name"]: result for result in found}


def progress(frames: Sequence[Frame]) -> list[Json]:
    """What each `tool.progress` says, in their order."""
    return [frame.data["data"]["progress"] for frame in frames if frame.event == "tool.progress"]
