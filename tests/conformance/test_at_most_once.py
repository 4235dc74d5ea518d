"""A call is sent at most once, whatever becomes of connections, services and engines (TOOL-05).

The scripted service counts what it received by `call_id`. Nothing ever counts two.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from brain_testing.api import Api, Json
from brain_testing.engine_process import engine_process
from brain_testing.plugin import StartBrain
from brain_testing.raw_script import (
    Close,
    Gate,
    Reach,
    Read,
    Reset,
    Script,
    Send,
    UntilGone,
    answers,
    event,
    head,
    ok,
    response,
)
from brain_testing.reading import of_type, only, said, types
from brain_testing.running import RunningBrain
from brain_testing.tool_server import ToolServer

pytestmark = pytest.mark.requirement("TOOL-05", "TOOL-09")
Connect = Callable[..., Api]

FAULTS: dict[str, Script] = {
    "closed at once": (Close(),),
    "reset at once": (Reset(),),
    "closed after the headers of the request": (Read(head_only=True), Close()),
    "reset after the headers of the request": (Read(head_only=True), Reset()),
    "closed after the request": (Read(), Close()),
    "reset after the request": (Read(), Reset()),
    "closed within the status line": (Read(), Send(b"HTTP/1.1 "), Close()),
    "reset within the headers": (Read(), Send(head("application/json")[:-3]), Reset()),
    "closed after the headers": (Read(), Send(head("application/json")), Close()),
    "closed within the body": (Read(), Send(response(ok())[:-1]), Close()),
    "reset within the body": (Read(), Send(response(ok())[:-1]), Reset()),
    "closed within a stream": (Read(), Send(head("text/event-stream")), Close()),
    "an answer that is no HTTP": (Read(), Send(b"220 smtp.example ready\r\n"), UntilGone()),
    "301": answers("", "Location: /tools/again", status="301 Moved Permanently"),
    "307": answers("", "Location: /tools/again", status="307 Temporary Redirect"),
    "401": answers("", "WWW-Authenticate: Bearer", status="401 Unauthorized"),
    "407": answers("", "Proxy-Authenticate: Basic", status="407 Proxy Authentication Required"),
    "408": (Read(), Send(head(None, "Connection: close", status="408 Request Timeout")), Close()),
    "421": answers("", status="421 Misdirected Request"),
    "425": answers("", status="425 Too Early"),
    "429": answers("", "Retry-After: 0", status="429 Too Many Requests"),
    "503": answers("", "Retry-After: 0", status="503 Service Unavailable"),
}  # fmt: skip

STAGES: dict[str, Script] = {
    "accepted": (Reach("there"), UntilGone()),
    "headers_read": (Read(head_only=True), Reach("there"), UntilGone()),
    "read": (Read(), Reach("there"), UntilGone()),
    "in_its_headers": (Read(), Send(head("application/json")[:-3]), Reach("there"), UntilGone()),
    "in_its_body": (Read(), Send(response(ok())[:-1]), Reach("there"), UntilGone()),
    "in_a_stream": (
        Read(),
        Send(head("text/event-stream") + event("progress", 1)),
        Reach("there"),
        UntilGone(),
    ),
}
"""How far a call has come when the engine dies."""


@pytest.fixture
async def server() -> AsyncIterator[ToolServer]:
    async with ToolServer(*answers(ok())) as opened:
        yield opened


@pytest.fixture
async def api(start_brain: StartBrain, connect: Connect, server: ToolServer) -> Api:
    return connect(await start_brain(tools=[binding("ask", server)]))


def binding(name: str, server: ToolServer) -> dict[str, Any]:
    return {
        "name": name,
        "description": "A tool.",
        "input_schema": {"type": "object"},
        "url": server.url(),
        "tenants": ["local"],
    }


async def call(api: Api, session_id: str) -> Json:
    """One call to its end: its result."""
    return only(await api.turn(session_id, "/call ask {}"), "tool.result")


@pytest.mark.requirement("OUT-03", "OUT-04", "OUT-05", "TOOL-06")
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
@pytest.mark.parametrize("kept", [False, True], ids=["a new connection", "a kept connection"])
async def test_no_fault_makes_a_call_be_sent_twice(
    fault: Script, kept: bool, api: Api, server: ToolServer
) -> None:
    session_id = await api.create("ask")
    if kept:
        await call(api, session_id)
    server.plays(*fault)
    failed = await call(api, session_id)
    server.plays(*answers(ok()))
    fine = await call(api, session_id)

    assert (failed["is_error"], failed["unknown_outcome"]) == (True, True)
    assert server.counts()[failed["call_id"]] <= 1
    assert server.counts()[fine["call_id"]] == 1
    assert {request.path for request in server.requests} == {"/tools/test"}
    arrived = Counter(request.call_id for request in server.requests if request.complete)
    assert set(arrived.values()) == {1}


async def test_a_kept_connection_that_the_service_closed_is_not_used_again(
    api: Api, server: ToolServer
) -> None:
    session_id = await api.create("ask")
    server.plays(Read(), Send(response(ok())), Close())
    for number in range(1, 4):
        result = await call(api, session_id)
        await server.closed()
        assert result["is_error"] is False
        assert server.connections == number
    assert set(server.counts().values()) == {1}


@pytest.mark.requirement("OUT-03")
async def test_a_kept_connection_that_closes_while_the_next_call_begins_is_tried_once(
    api: Api, server: ToolServer
) -> None:
    session_id = await api.create("ask")
    results: list[Json] = []
    for number in range(20):
        # The first call leaves a connection, which is closed while the second one is on its way.
        server.plays(Read(), Send(response(ok())), Gate(f"gate {number}"), Close())
        results.append(await call(api, session_id))
        server.plays(*answers(ok()))
        second = asyncio.create_task(call(api, session_id))
        for _ in range(number):
            await asyncio.sleep(0)  # each time at another moment
        server.open(f"gate {number}")
        results.append(await second)

    counts = server.counts()
    for result in results:
        lost = result["is_error"]
        assert result["unknown_outcome"] is lost
        assert counts[result["call_id"]] <= 1
        assert lost or counts[result["call_id"]] == 1


@pytest.mark.requirement("OUT-07", "REC-02")
async def test_an_engine_that_is_killed_sends_no_call_again(
    start_brain: StartBrain, connect: Connect
) -> None:
    async with AsyncExitStack() as stack:
        servers = {
            stage: await stack.enter_async_context(ToolServer(*script))
            for stage, script in STAGES.items()
        }
        brain = await start_brain(tools=[binding(*each) for each in servers.items()])
        api = connect(brain)
        session_id = await killed_with_all_in_flight(brain, api, servers)
        for server in servers.values():
            await server.gone()
            server.plays(*answers(ok("This must never come.")))
        await brain.start_engine()
        await api.until_ready()
        events = await api.until_idle(session_id)
        connections = {stage: server.connections for stage, server in servers.items()}
        counts = {stage: server.counts() for stage, server in servers.items()}

    results = {data["name"]: data for data in of_type(events, "tool.result")}
    assert len(of_type(events, "tool.result")) == len(of_type(events, "tool.call")) == len(STAGES)
    for stage in STAGES:
        assert connections[stage] == 1, stage
        assert max(counts[stage].values(), default=0) <= 1
        assert results[stage]["code"] == "engine_died"
        assert results[stage]["unknown_outcome"] is True
    assert types(events)[-1] == "turn.completed"
    assert "may or may not have happened" in said(events)


async def killed_with_all_in_flight(
    brain: RunningBrain, api: Api, servers: dict[str, ToolServer]
) -> str:
    """Kill the engine when each service has come to its stage; gives the session."""
    async with engine_process(brain, api) as engine:
        session_id = await api.create(*servers)
        await api.send(session_id, "\n".join(f"/call {stage} {{}}" for stage in servers))
        for server in servers.values():
            await server.reached("there")
        await engine.kill()
    return session_id
