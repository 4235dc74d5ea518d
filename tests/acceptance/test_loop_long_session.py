"""A session runs on for a thousand steps through a window that holds a handful of them."""

import json

import msgspec
import pytest

from brain.engine.model.protocol import ModelRequest
from brain_core.usage import Usage
from brain_testing.desk import DeskCall
from brain_testing.dialect_requests import refusals
from brain_testing.model_stage import model_stage
from brain_testing.reading import only, said, types
from brain_testing.scripted_model import Known, Reply, ScriptedModel, calls, fails, text

STEPS = 1_000
WINDOW = 32_000
RESULT = "0123456789abcdef" * 1_280
"""20 KB."""


class Worker:
    """A model that asks for one thing after the other, within its window, and notes what it did."""

    def __init__(self) -> None:
        self.steps = 0
        self.overflows = 0
        self.summaries = 0
        self.refused: list[str] = []

    def __call__(self, request: ModelRequest) -> Reply:
        tokens = len(msgspec.json.encode(request)) // 4
        self.refused += refusals(request)
        if tokens > WINDOW:
            self.overflows += 1
            return fails("context_overflow")
        if "handover notes" in (request.system_prompt or ""):
            self.summaries += 1
            return text(f"## Goal\nCount.\n## Progress\n{self.steps} done.", Usage(tokens, 20))
        self.steps += 1
        if self.steps > STEPS:
            return text("done", Usage(tokens, 1))
        return calls(("ask", json.dumps({"n": self.steps})), usage=Usage(tokens, 10))


async def answer(call: DeskCall) -> None:
    call.say(f"{call.arguments['n']}: {RESULT}")


@pytest.mark.requirement("LOOP-04", "LOOP-02")
async def test_a_thousand_steps_with_large_results_run_without_an_invalid_request() -> None:
    worker = Worker()
    model = ScriptedModel(otherwise=worker)
    async with model_stage(model, known=Known(tokens=WINDOW), serve=answer) as (stage, desk):
        session_id = await stage.create("ask", max_steps=STEPS + 1)
        sent = await stage.api.send(session_id, "Count to a thousand.")
        events = await stage.api.until_idle(session_id, after=sent["seq"] - 1)

    assert said(events) == "done"
    assert only(events, "turn.completed")["stop_reason"] == "end_turn"
    assert types(events).count("tool.result") == STEPS == len(desk.arrived)
    assert worker.summaries > 10
    assert worker.overflows == 0
    assert worker.refused == model.refused == []
