"""The host config changes under a living session: the past stands, the rest is said clearly."""

from collections.abc import Callable

import pytest

from brain_testing.api import Api
from brain_testing.desk import Desk, DeskCall
from brain_testing.plugin import StartBrain
from brain_testing.reading import of_type, only, said, text_of
from brain_testing.running import RunningBrain, Setup

pytestmark = pytest.mark.requirement("SES-05")


async def say_done(call: DeskCall) -> None:
    call.say("done")


@pytest.fixture
async def brain(start_brain: StartBrain, desk: Desk) -> RunningBrain:
    return await start_brain(tools=[desk.binding("ask", say_done)])


async def restart(brain: RunningBrain, api: Api, **setup: object) -> None:
    """Start the engine again with another host config."""
    await brain.stop_engine()
    await brain.start_engine(Setup(**setup))  # pyright: ignore[reportArgumentType]
    await api.until_ready()


async def test_a_tool_that_was_removed_is_refused_at_call_time(
    brain: RunningBrain, api: Api, desk: Desk
) -> None:
    session_id = await api.create("ask")
    before = await api.turn(session_id, "/call ask {}")
    past = await api.events(session_id)

    await restart(brain, api, tools=[])
    after = await api.turn(session_id, "/call ask {}")

    assert said(before) == "done"
    result = only(after, "tool.result")
    assert (result["is_error"], result["unknown_outcome"]) == (True, False)
    assert result["code"].startswith("refused_")
    assert "not called" in text_of(result)
    assert len(desk.arrived) == 1
    assert (await api.events(session_id))[: len(past)] == past


@pytest.mark.requirement("OUT-02")
async def test_a_tool_that_was_taken_from_the_tenant_is_refused_at_call_time(
    start_brain: StartBrain, connect: Callable[..., Api], desk: Desk
) -> None:
    tenants = ("local", "other")
    brain = await start_brain(tenants=tenants, tools=[desk.binding("ask")])
    api = connect(brain)
    session_id = await api.create("ask")
    await restart(brain, api, tenants=tenants, tools=[desk.binding("ask", tenants=["other"])])
    result = only(await api.turn(session_id, "/call ask {}"), "tool.result")
    assert (result["is_error"], result["unknown_outcome"]) == (True, False)
    assert desk.arrived == []


async def test_a_changed_tool_changes_nothing_of_what_past_events_say(
    brain: RunningBrain, api: Api, desk: Desk
) -> None:
    session_id = await api.create("ask")
    await api.turn(session_id, '/call ask {"n":1}')
    before = (await api.http.get(f"/sessions/{session_id}/events")).content

    changed = desk.binding("ask", description="Something else.", input_schema={"type": "object"})
    await restart(brain, api, tools=[changed])

    assert (await api.http.get(f"/sessions/{session_id}/events")).content == before
    await api.turn(session_id, '/call ask {"n":2}')
    assert len(of_type(await api.events(session_id), "tool.result")) == 2


@pytest.mark.requirement("SES-03")
async def test_a_session_pins_what_the_model_sees_of_its_tools_in_the_order_given(
    start_brain: StartBrain, connect: Callable[..., Api], desk: Desk
) -> None:
    schema = {"type": "object", "properties": {"z": {}, "a": {"maximum": 12345678901234567890}}}
    tools = [
        desk.binding("one", description="The first.", input_schema=schema),
        desk.binding("two", output_schema={"type": "array"}),
        desk.binding("three"),
    ]
    api = connect(await start_brain(tools=tools))
    created = only(await api.events(await api.create("three", "one")), "session.created")
    assert created["tools"] == [
        {
            "name": "three",
            "description": "The tool three of a test.",
            "input_schema": {"type": "object"},
        },
        {"name": "one", "description": "The first.", "input_schema": schema},
    ]
