"""One step's model call: its stream to live deltas, its end to a message. Above: `loop`.

Below: `model_call`.
"""

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from brain.engine.harness.pi.context import Context
from brain.engine.harness.pi.model_call import call_model, model_name
from brain.engine.harness.protocol import KnownModels, TurnPort
from brain.engine.model.protocol import (
    Answer,
    Delta,
    Failure,
    ModelRequest,
    RequestedCall,
)
from brain_core import ids
from brain_core.content import AssistantBlock, TextBlock, ThinkingBlock, ToolCallBlock
from brain_core.events import AssistantMessage, MessageDelta, StopReason
from brain_core.usage import Usage


class WantedCall(Struct, frozen=True):
    """A call that the model asked for: Brain's id for it, and the model's own text."""

    call_id: str
    name: str
    arguments: str


class Step(Struct, frozen=True):
    """What a model call came to: the message for the log, and the calls to run."""

    message: AssistantMessage
    calls: tuple[WantedCall, ...] = ()
    failure: Failure | None = None


async def run_step(turn: TurnPort, context: Context, known: KnownModels) -> Step:
    """Call the model once. An interrupt ends the call and keeps what was said so far."""
    answering = _Answering(turn)
    called = await call_model(turn, known, _request(turn, context), answering.add)
    if isinstance(called.ended, Answer):
        return answering.finished(called.ended, called.usage)
    if isinstance(called.ended, Failure):
        return Step(answering.broken_off("error", called.usage), failure=called.ended)
    return Step(answering.broken_off("interrupted", called.usage))


def _request(turn: TurnPort, context: Context) -> ModelRequest:
    config = turn.config
    return ModelRequest(
        model=model_name(config.model),
        turns=context.turns(),
        tools=turn.tools,
        system_prompt=config.system_prompt,
        max_output_tokens=config.max_output_tokens,
        temperature=config.temperature,
        thinking=config.thinking,
    )


class _Answering:
    """An answer in the making: shows each piece to whoever follows, and keeps the text."""

    def __init__(self, turn: TurnPort) -> None:
        self._turn = turn
        self._message_id = ids.message_id()
        self._call_ids: dict[int, str] = {}
        self._text: list[str] = []
        self._thinking: list[str] = []

    def add(self, delta: Delta) -> None:
        call_id: str | UnsetType = UNSET
        if delta.kind == "text":
            self._text.append(delta.text)
        elif delta.kind == "thinking":
            self._thinking.append(delta.text)
        else:
            call_id = self._call_id(delta.index)
        self._turn.publish(MessageDelta(self._message_id, delta.kind, delta.text, call_id))

    def finished(self, answer: Answer, usage: Usage) -> Step:
        """The whole answer. The calls keep the ids under which their pieces were shown."""
        blocks: list[AssistantBlock] = []
        calls: list[WantedCall] = []
        for block in answer.blocks:
            if isinstance(block, RequestedCall):
                call = WantedCall(self._call_id(len(calls)), block.name, block.arguments)
                calls.append(call)
                blocks.append(ToolCallBlock(call.call_id, call.name, json_or_text(call.arguments)))
            else:
                blocks.append(block)
        message = self._message(tuple(blocks), answer.stop_reason, usage)
        return Step(message, tuple(calls))

    def broken_off(self, stop_reason: StopReason, usage: Usage) -> AssistantMessage:
        """What was said until the answer broke off. A half-written call is left out."""
        said = _said("".join(self._thinking), "".join(self._text))
        return self._message(said, stop_reason, usage)

    def _message(
        self, content: tuple[AssistantBlock, ...], stop_reason: StopReason, usage: Usage
    ) -> AssistantMessage:
        model = self._turn.config.model
        return AssistantMessage(self._message_id, content, model, stop_reason, usage)

    def _call_id(self, index: int) -> str:
        return self._call_ids.setdefault(index, ids.call_id())


def _said(thinking: str, text: str) -> tuple[AssistantBlock, ...]:
    blocks: list[AssistantBlock] = []
    if thinking:
        blocks.append(ThinkingBlock(thinking))
    if text:
        blocks.append(TextBlock(text))
    return tuple(blocks)


def json_or_text(arguments: str) -> Raw:
    """The model's arguments for the log: as compact JSON, or, if they are none, as a string."""
    try:
        msgspec.json.decode(arguments)
        compact = msgspec.json.format(arguments.encode(), indent=-1)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        compact = msgspec.json.encode(arguments.encode(errors="replace").decode())
    return Raw(compact)
