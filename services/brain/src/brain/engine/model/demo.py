"""`demo/script`: a model that needs no key and no network. Above: `registry`. Below: nothing.

The user's text is its script: each line `/call NAME JSON` becomes a tool call, and once their
results are there it answers with the results' text. Any other text it says back.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from typing import TypeVar

from brain.engine.model.protocol import (
    Answer,
    Delta,
    Failure,
    ModelRequest,
    RequestedCall,
    ToolTurn,
    Turn,
    UserTurn,
)
from brain_core.content import ResultBlock, TextBlock
from brain_core.usage import Usage

_CALL = re.compile(r"/call[ \t]+(\S+)[ \t]*(.*)")
_WORD = re.compile(r"\s*\S+|\s+$")
_BREATHE_EVERY = 64
_T = TypeVar("_T", UserTurn, ToolTurn)


class DemoModel:
    """The scripted model. It takes no time of its own."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Answer | Failure, None]:
        results = tuple(_trailing(request.turns, ToolTurn))
        if results:
            said = "\n".join(_text(turn.content) for turn in results)
            calls: tuple[RequestedCall, ...] = ()
        else:
            heard = "\n".join(_text(turn.content) for turn in _trailing(request.turns, UserTurn))
            calls = tuple(_calls(heard))
            said = "" if calls else f"You said: {heard}"
        async for delta in _pieces(said, calls):
            yield delta
        yield _answer(request, said, calls)


async def _pieces(said: str, calls: Iterable[RequestedCall]) -> AsyncIterator[Delta]:
    for number, word in enumerate(_WORD.finditer(said)):
        yield Delta("text", word.group())
        if number % _BREATHE_EVERY == _BREATHE_EVERY - 1:
            await asyncio.sleep(0)  # a long text must not keep other sessions waiting
    for index, call in enumerate(calls):
        yield Delta("tool_arguments", call.arguments, index)


def _answer(request: ModelRequest, said: str, calls: tuple[RequestedCall, ...]) -> Answer:
    read = request.turns[-1] if request.turns else None
    heard = _text(read.content) if isinstance(read, UserTurn | ToolTurn) else ""
    return Answer(
        blocks=calls or (TextBlock(said),),
        stop_reason="tool_calls" if calls else "end_turn",
        usage=Usage(
            input_tokens=_words(heard),
            output_tokens=_words(said) + sum(_words(call.arguments) for call in calls),
            cost_usd=0.0,
        ),
    )


def _calls(text: str) -> Iterable[RequestedCall]:
    for line in text.split("\n"):
        match = _CALL.fullmatch(line.removesuffix("\r"))
        if match:
            yield RequestedCall(match.group(1), match.group(2) or "{}")


def _trailing(turns: Sequence[Turn], kind: type[_T]) -> list[_T]:
    last: list[_T] = []
    for turn in reversed(turns):
        if not isinstance(turn, kind):
            break
        last.append(turn)
    return last[::-1]


def _text(content: Iterable[ResultBlock]) -> str:
    return "".join(
        block.text if isinstance(block, TextBlock) else f"[{block.mime_type}]" for block in content
    )


def _words(text: str) -> int:
    return len(text.split())
