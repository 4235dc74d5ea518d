"""Interrupt and close end calls at every stage while the service still hangs (OUT-06, OUT-11).

No test asks how long it takes. The engine's clock stands still, so that no limit ends anything, and
the service never goes on by itself: an answer can only come because the call was cancelled.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from brain.wiring import Tuning
from brain_testing.api import Api, Json
from brain_testing.manual_clock import ManualClock
from brain_testing.plugin import StartBrain
from brain_testing.raw_script import (
    Flood,
    Gate,
    Reach,
    Read,
    Script,
    Send,
    UntilGone,
    answers,
    event,
    head,
    ok,
    response,
)
from brain_testing.reading import of_type, only, read_until, said, text_of, types
from brain_testing.tool_server import ToolServer

pytestmark = pytest.mark.requirement("OUT-06", "OUT-11", "TOOL-09")
Connect = Callable[..., Api]

HANGS = (Reach("there"), UntilGone())
STREAM = head("text/event-stream")
LARGE = '{"text":"' + "x" * 3_000_000 + '"}'
ENDLESS: Json = {
    "type": "object",
    "$ref": "#/$defs/a0",
    "$defs": {
        **{f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(60)},
        "a60": {"type": "object"},
    },
}
"""A schema that takes 2 to the power of 60 steps."""


@dataclass(frozen=True)
class Stage:
    """How far the call has come. `tls`: the binding wants https, which the service can't speak."""

    script: Script
    arguments: str = "{}"
    tls: bool = False
    received: int = 0


STAGES = {
    "in the TLS handshake": Stage(HANGS, tls=True),
    "while the request is written": Stage((Gate("there"), UntilGone()), LARGE),
    "when only its headers were read": Stage((Read(head_only=True), *HANGS), received=0),
    "while it waits for headers": Stage((Read(), *HANGS), received=1),
    "after an informational response": Stage(
        (Read(), Send(b"HTTP/1.1 100 Continue\r\n\r\n"), *HANGS), received=1
    ),
    "within the headers": Stage((Read(), Send(STREAM[:-3]), *HANGS), received=1),
    "within a JSON body": Stage((Read(), Send(response(ok())[:-1]), *HANGS), received=1),
    "within a chunk": Stage(
        (Read(), Send(head("application/json", "Transfer-Encoding: chunked") + b"ff\r\n{"), *HANGS),
        received=1,
    ),
    "at the start of a stream": Stage((Read(), Send(STREAM), *HANGS), received=1),
    "between progress events": Stage(
        (Read(), Send(STREAM + event("progress", 1)), *HANGS), received=1
    ),
    "within the result event": Stage(
        (Read(), Send(STREAM + event("result", ok())[:-1]), *HANGS), received=1
    ),
    "in a flood": Stage(
        (Read(), Send(STREAM), Reach("there"), Flood(b": still here\n\n", times=10), UntilGone()),
        received=1,
    ),
}


@pytest.fixture
async def server() -> AsyncIterator[ToolServer]:
    async with ToolServer() as opened:
        yield opened


def binding(name: str, url: str, **fields: Any) -> Json:
    return {
        "name": name,
        "description": "A tool.",
        "input_schema": {"type": "object"},
        "url": url,
        "tenants": ["local"],
        **fields,
    }


async def end(api: Api, session_id: str, how: str) -> list[Json]:
    """Interrupt or close; all events at the moment when that is answered."""
    answer = await api.http.post(f"/sessions/{session_id}/{how}")
    assert answer.status_code == 200
    return await api.events(session_id)


def ended(how: str) -> list[str]:
    return ["turn.interrupted", *(["session.closed"] if how == "close" else [])]


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES.keys())
@pytest.mark.parametrize("how", ["interrupt", "close"])
async def test_a_call_in_flight_ends_with_an_unknown_outcome(
    how: str, stage: Stage, start_brain: StartBrain, connect: Connect, server: ToolServer
) -> None:
    server.plays(*stage.script)
    url = server.url().replace("http:", "https:") if stage.tls else server.url()
    tools = [binding("ask", url), binding("other", server.url())]
    api = connect(await start_brain(tools=tools, tuning=Tuning(clock=ManualClock())))
    session_id = await api.create("ask", "other")
    await api.send(session_id, f"/call ask {stage.arguments}")
    await server.reached("there")

    events = await end(api, session_id, how)

    result = only(events, "tool.result")
    assert (result["code"], result["is_error"], result["unknown_outcome"]) == (
        "interrupted",
        True,
        True,
    )
    assert "may or may not have happened" in text_of(result)
    assert types(events)[-len(ended(how)) - 1 :] == ["tool.result", *ended(how)]
    server.open("there")
    await server.gone()
    assert sum(request.complete for request in server.requests) == stage.received
    if how == "interrupt":
        server.plays(*answers(ok("and on it goes")))
        assert said(await api.turn(session_id, "/call other {}")) == "and on it goes"


@pytest.mark.requirement("TOOL-02")
@pytest.mark.parametrize("how", ["interrupt", "close"])
async def test_a_call_whose_arguments_are_still_checked_was_never_sent(
    how: str, start_brain: StartBrain, connect: Connect, server: ToolServer
) -> None:
    tools = [binding("ask", server.url(), input_schema=ENDLESS)]
    api = connect(await start_brain(tools=tools, tuning=Tuning(clock=ManualClock())))
    session_id = await api.create("ask")
    async with api.follow(session_id) as frames:
        await api.send(session_id, "/call ask {}")
        await read_until(frames, "tool.call")

    events = await end(api, session_id, how)

    result = only(events, "tool.result")
    assert (result["code"], result["is_error"], result["unknown_outcome"]) == (
        "interrupted",
        True,
        False,
    )
    assert "nothing happened" in text_of(result)
    assert server.connections == 0


BATCH = [
    *("waits", "done", "streams", "waits", "denied"),
    *("streams", "waits", "broken", "streams", "waits"),
]


@pytest.mark.requirement("TOOL-08")
@pytest.mark.parametrize("how", ["interrupt", "close"])
async def test_in_a_batch_of_ten_the_three_that_ended_keep_their_results(
    how: str, start_brain: StartBrain, connect: Connect, server: ToolServer
) -> None:
    server.plays(*answers(ok("done")), path="/done")
    server.plays(*answers(ok("denied", is_error=True)), path="/denied")
    server.plays(*answers("", status="500 Oops"), path="/broken")
    server.plays(Read(), *HANGS, path="/waits")
    server.plays(Read(), Send(STREAM + event("progress", 1)), *HANGS, path="/streams")
    names = ("done", "denied", "broken", "waits", "streams")
    tools = [binding(name, server.url(f"/{name}")) for name in names]
    api = connect(await start_brain(tools=tools, tuning=Tuning(clock=ManualClock())))
    session_id = await api.create(*names)
    async with api.follow(session_id) as frames:
        await api.send(session_id, "\n".join(f"/call {name} {{}}" for name in BATCH))
        await read_until(frames, "tool.result", times=3)
    for _ in range(7):
        await server.reached("there")

    events = await end(api, session_id, how)

    calls = of_type(events, "tool.call")
    results = {data["call_id"]: data for data in of_type(events, "tool.result")}
    assert [call["name"] for call in calls] == BATCH
    assert len(of_type(events, "tool.result")) == len(results) == 10
    table = {
        "done": (None, False, False),
        "denied": (None, True, False),
        "broken": ("http_status", True, True),
    }
    for call in calls:
        result = results[call["call_id"]]
        outcome = (result.get("code"), result["is_error"], result["unknown_outcome"])
        assert outcome == table.get(call["name"], ("interrupted", True, True))
    assert types(events)[-len(ended(how)) :] == ended(how)
    for _ in range(7):
        await server.gone()
    assert set(server.counts().values()) == {1}
    if how == "interrupt":
        assert said(await api.turn(session_id, "/call done {}")) == "done"
