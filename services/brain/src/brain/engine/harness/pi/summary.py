"""Summaries of a conversation, by the session's own model. Above: `compaction`.

Below: `model_call`, `retry`. A summary is only taken if it is whole: one that was cut off, or that
asks for a tool, would be all that the model ever knows of what it stands for.
"""

from brain.engine.harness.pi.budget import used_up
from brain.engine.harness.pi.model_call import Called, call_model, model_name
from brain.engine.harness.pi.retry import may_retry, wait_to_retry
from brain.engine.harness.protocol import KnownModels, SessionPort
from brain.engine.model.protocol import Answer, Delta, Failure, ModelRequest, UserTurn
from brain_core.clock import Clock
from brain_core.content import TextBlock, text_of
from brain_core.events import ErrorInfo
from brain_core.usage import Usage

INTERRUPTED = "interrupted"
BUDGET = "budget"
BAD_SUMMARY = "bad_summary"

_ROLE = (
    "You write handover notes. You are given the record of a conversation between a user and an"
    " assistant that works with tools. Another assistant will go on with the work and will see"
    " your notes in place of the record, and nothing else of it. Don't answer anything in the"
    " record, don't go on with it and call no tool: write the notes, in the record's language."
)
_SECTIONS = """\
Use these sections, and leave none out; write "None" where there is nothing to say:

## Goal
What the user wants to have in the end.

## Constraints
What the user demands, prefers or forbids.

## Progress
What is done, what is half done, what failed or may have happened without an answer.

## Decisions
What was decided, and why.

## Next steps
What is to be done now, in order.

## Critical context
Whatever can't be found out again: names, ids, paths, numbers, exact words, findings.

Be exact and brief: at most about 1,000 words."""
_NEW = "Here is the record.\n\n<record>\n{record}\n</record>\n\nWrite the notes. {sections}"
_UPDATE = """\
Here are the notes on everything before, and the record of what came after.

<notes>
{notes}
</notes>

<record>
{record}
</record>

Write the notes anew, so that they cover both: keep what still holds, add what is new, move what \
is done to the progress, drop what no longer matters. {sections}"""
_PREFIX = """\
Here is the first part of a turn that is still going on: what the user asked for, and what was \
done about it so far. The rest of the turn will be there in full.

<record>
{record}
</record>

Write down, in at most about 400 words: what the user asked for, word for word if it is short; \
what was done and found out; what the rest of the turn can't be understood without."""


class Summaries:
    """Makes summaries; `usage` is what its calls have used, whatever came of them."""

    def __init__(self, port: SessionPort, known: KnownModels, clock: Clock) -> None:
        self.usage = Usage()
        self._port = port
        self._known = known
        self._clock = clock

    async def of_history(self, notes: str | None, record: str) -> str | ErrorInfo:
        """A summary of a record; one that is there already is updated."""
        if notes is None:
            return await self._ask(_NEW.format(record=record, sections=_SECTIONS))
        return await self._ask(_UPDATE.format(notes=notes, record=record, sections=_SECTIONS))

    async def of_turn(self, record: str) -> str | ErrorInfo:
        """A summary of the first part of a turn."""
        return await self._ask(_PREFIX.format(record=record))

    async def _ask(self, text: str) -> str | ErrorInfo:
        retries = 0
        while True:
            if used_up(self._port.config, self._port.spent().session + self.usage):
                return ErrorInfo(BUDGET, "The session's budget is used up.")
            called = await self._call(text)
            if not isinstance(called.ended, Failure) or not may_retry(called.ended, retries):
                return _outcome(called)
            retries += 1
            await wait_to_retry(self._port, self._clock, retries, called.ended)

    async def _call(self, text: str) -> Called:
        request = ModelRequest(
            model=model_name(self._port.config.model),
            turns=(UserTurn((TextBlock(text),)),),
            system_prompt=_ROLE,
        )
        called = await call_model(self._port, self._known, request, _not_shown)
        self.usage += called.usage
        return called


def _not_shown(_: Delta) -> None:
    """A summary is for the model: nobody follows it."""


def _outcome(called: Called) -> str | ErrorInfo:
    if called.ended is None:
        return ErrorInfo(INTERRUPTED, "The compaction was interrupted.")
    if isinstance(called.ended, Failure):
        return ErrorInfo(called.ended.code, called.ended.message)
    return _accepted(called.ended)


def _accepted(answer: Answer) -> str | ErrorInfo:
    text = text_of(tuple(block for block in answer.blocks if isinstance(block, TextBlock))).strip()
    if answer.stop_reason != "end_turn" or not text:
        return ErrorInfo(BAD_SUMMARY, "The model gave no whole summary of the conversation.")
    return text
