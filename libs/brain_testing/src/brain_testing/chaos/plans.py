"""What a message of the drivers asks of the model, and the model that does it.

Above: `engine` puts it in, `sessions` writes the plans. Below: `brain.engine.model.protocol`.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import msgspec

from brain.engine.model.protocol import (
    Answer,
    AssistantTurn,
    Delta,
    Failure,
    ModelRequest,
    RequestedCall,
    ToolTurn,
    UserTurn,
)
from brain_core.content import TextBlock, text_of
from brain_core.usage import Usage
from brain_testing.request_rules import problems_of

MODEL = "chaos/any"
_CHARACTERS_A_TOKEN = 4


def plan(name: str, steps: list[list[str]], *, fail: int = 0, words: int = 3) -> str:
    """A message: the tools of each step, how often the first call fails, how much is said."""
    return json.dumps({"plan": name, "steps": steps, "fail": fail, "words": words})


class PlanModel:
    """Does what the last message with a plan says, then answers. Refuses an invalid request."""

    def __init__(self) -> None:
        self._failed: dict[str, int] = {}

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Answer | Failure, None]:
        problems = problems_of(request.turns)
        used = _used(request)
        if problems:
            yield Failure("bad_request", "; ".join(problems), transient=False, usage=used)
            return
        if "handover notes" in (request.system_prompt or ""):
            await asyncio.sleep(0.02)
            yield Answer((TextBlock("What was said so far is of no more use."),), "end_turn", used)
            return
        wanted, done = _where(request)
        if self._failed.get(wanted["plan"], 0) < wanted["fail"]:
            self._failed[wanted["plan"]] = self._failed.get(wanted["plan"], 0) + 1
            yield Failure("overloaded", "The model is overloaded.", transient=True, usage=used)
            return
        said: list[str] = []
        for number in range(wanted["words"]):
            await asyncio.sleep(0.002)
            said.append(f"word{number} ")
            yield Delta("text", said[-1])
        yield _answer("".join(said), wanted["steps"][done : done + 1], used)


def _answer(said: str, step: list[list[str]], used: Usage) -> Answer:
    text = TextBlock(said or "ok")
    if not step:
        return Answer((text,), "end_turn", used)
    calls = (RequestedCall(name, "{}") for name in step[0])
    return Answer((text, *calls), "tool_calls", used)


def _used(request: ModelRequest) -> Usage:
    """About what a real model would count, so that long sessions come near its window."""
    size = sum(len(msgspec.json.encode(turn)) for turn in request.turns)
    return Usage(input_tokens=size // _CHARACTERS_A_TOKEN, output_tokens=10)


def _where(request: ModelRequest) -> tuple[dict[str, Any], int]:
    """The plan, and how many of its steps have been taken."""
    done = 0
    for turn in reversed(request.turns):
        if isinstance(turn, UserTurn):
            text = text_of(turn.content)
            if text.startswith('{"plan"'):
                return json.loads(text), done
        elif isinstance(turn, AssistantTurn):
            done += 1
        else:
            assert isinstance(turn, ToolTurn)
    return {"plan": "none", "steps": [], "fail": 0, "words": 1}, 0
