"""A turn can be ended at every point of a step, in each of the ways there are."""

import pytest

from brain.engine.model.protocol import Delta
from brain_testing.desk import Desk, within
from brain_testing.model_stage import ModelStage, model_stage
from brain_testing.reading import only, said, types
from brain_testing.scripted_model import (
    USED,
    Gate,
    Reply,
    ScriptedModel,
    calls,
    fails,
)

POINTS: dict[str, Reply] = {
    "before a word": (),
    "in text": (Delta("text", "half"),),
    "in thinking": (Delta("thinking", "half"),),
    "in arguments": (Delta("tool_arguments", '{"ha'),),
    "in the batch": calls(("ask", "{}"), ("ask", "{}")),
    "in a pause": fails("overloaded", transient=True, usage=USED),
}


async def running_up_to(point: str, gate: Gate, stage: ModelStage, desk: Desk) -> str:
    """A session whose turn has come to the point."""
    said_first = POINTS[point]
    whole = point in ("in the batch", "in a pause")
    stage.model.add(said_first if whole else (*said_first, gate))
    session_id = await stage.create("ask")
    await stage.api.send(session_id, "hi")
    if point == "in a pause":
        await stage.clock.asleep(1)
    elif point == "in the batch":
        for _ in range(2):
            await desk.next_call()
    else:
        await gate.reached()
    return session_id


@pytest.mark.requirement("LOOP-02", "SES-04", "TOOL-09", "MSG-02")
@pytest.mark.parametrize("how", ["client", "close", "message"])
@pytest.mark.parametrize("point", POINTS)
async def test_every_call_has_its_result_and_the_session_goes_on_if_it_may(
    point: str, how: str
) -> None:
    gate = Gate()
    async with model_stage(ScriptedModel()) as (stage, desk):
        session_id = await running_up_to(point, gate, stage, desk)
        if how == "message":
            await stage.api.send(session_id, "stop", delivery="interrupt")
        else:
            await stage.post(session_id, {"client": "interrupt"}.get(how, how))
        events = await stage.api.until_idle(session_id)
        works = how == "close" or said(await stage.api.turn(session_id, "again")) == "ok"

    assert only(events, "turn.interrupted")["reason"] == how
    assert types(events).count("tool.call") == types(events).count("tool.result")
    assert works
    assert not stage.model.refused


@pytest.mark.requirement("SES-04")
@pytest.mark.parametrize("point", POINTS)
async def test_a_session_can_be_deleted_and_nothing_of_it_goes_on(point: str) -> None:
    gate = Gate()
    async with model_stage(ScriptedModel()) as (stage, desk):
        session_id = await running_up_to(point, gate, stage, desk)
        answer = await within(stage.api.http.delete(f"/sessions/{session_id}"))
        gone = await stage.api.http.get(f"/sessions/{session_id}")
        for call in desk.arrived:
            await within(call.gone.wait())
        await stage.clock.advance(60)

    assert (answer.status_code, gone.status_code) == (204, 404)
    assert len(stage.model.requests) == 1
