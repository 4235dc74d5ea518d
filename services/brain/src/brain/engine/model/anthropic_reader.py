"""An answer in Anthropic's Messages format. Above: `anthropic_messages`. Below: `draft`."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from brain.engine.model.anthropic_request import Replay
from brain.engine.model.draft import Draft, Kind, Part
from brain.engine.model.protocol import Answer, Delta
from brain.engine.model.provider_errors import ProviderError, read_error
from brain.engine.model.typed_events import TypedEvents
from brain_core.usage import Usage

_CUT_OFF = ("max_tokens", "model_context_window_exceeded")


class _Details(Struct, frozen=True):
    thinking_tokens: int | None = None


class _Usage(Struct, frozen=True):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens_details: _Details | None = None


class _Message(Struct, frozen=True):
    usage: _Usage | None = None


class _Block(Struct, frozen=True):
    type: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    data: str = ""
    name: str = ""
    input: dict[str, Any] = {}


class _Stop(Struct, frozen=True):
    explanation: str | None = None


class _Delta(Struct, frozen=True):
    type: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    partial_json: str = ""
    stop_reason: str | None = None
    stop_details: _Stop | None = None


class _Event(Struct, frozen=True):
    """Every event of a stream; each has only some of these."""

    type: str
    index: int = 0
    message: _Message | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None


_KINDS = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "error",
    }
)
_decode = TypedEvents(_Event, _KINDS).decode


class AnthropicReader:
    """Reads one answer."""

    def __init__(self) -> None:
        self.done = False
        self.usage = Usage()
        self._draft = Draft()
        self._open: dict[int, Part] = {}
        self._inputs: dict[int, dict[str, Any]] = {}
        self._signatures: dict[int, str] = {}
        self._stop_reason: str | None = None
        self._explanation = ""
        self._error: ProviderError | None = None

    def read(self, data: bytes) -> Sequence[Delta]:
        """The pieces in one event's data. Raises: MsgspecError."""
        event = _decode(data)
        if event is None:
            return ()
        if event.type == "content_block_delta" and event.delta is not None:
            return self._piece(event.index, event.delta)
        if event.type == "content_block_start" and event.content_block is not None:
            return self._begin(event.index, event.content_block)
        if event.type == "content_block_stop":
            return self._close(event.index)
        if event.type == "error":
            self._error, self.done = read_error(data), True
        else:
            self._note(event)
        return ()

    def end(self) -> Answer | ProviderError | None:
        """What the stream came to; None if the answer isn't whole."""
        if self._error is not None or self._stop_reason is None:
            return self._error
        if self._stop_reason == "refusal":
            return ProviderError(("refusal",), self._explanation)
        for index in list(self._open):
            self._close(index)
        return self._draft.answer(cut_off=self._stop_reason in _CUT_OFF, usage=self.usage)

    def _note(self, event: _Event) -> None:
        if event.type == "message_start" and event.message is not None:
            self._count(event.message.usage)
        elif event.type == "message_delta":
            self._count(event.usage)
            if event.delta is not None:
                self._stop_reason = event.delta.stop_reason or self._stop_reason
                details = event.delta.stop_details
                self._explanation = (details and details.explanation) or ""
        elif event.type == "message_stop":
            self.done = True
            self._stop_reason = self._stop_reason or "end_turn"

    def _begin(self, index: int, block: _Block) -> Sequence[Delta]:
        if block.type == "text":
            return self._with(self._opened(index, "text"), block.text)
        if block.type == "thinking":
            part = self._opened(index, "thinking")
            self._sign(index, part, block.signature)
            return self._with(part, block.thinking)
        if block.type == "redacted_thinking":
            self._opened(index, "thinking").replay = _replay(Replay(data=block.data))
        elif block.type == "tool_use":
            self._opened(index, "tool_arguments", block.name)
            self._inputs[index] = block.input
        return ()

    def _close(self, index: int) -> Sequence[Delta]:
        part = self._open.pop(index, None)
        # Usually empty at the beginning, and streamed afterwards; some servers give it whole.
        given = self._inputs.pop(index, None)
        if part is None or part.text or not given:
            return ()
        return self._with(part, msgspec.json.encode(given).decode())

    def _opened(self, index: int, kind: Kind, name: str = "") -> Part:
        self._open[index] = part = self._draft.open(kind, name)
        return part

    def _piece(self, index: int, delta: _Delta) -> Sequence[Delta]:
        part = self._open.get(index)
        if part is None:
            return ()
        if delta.type == "signature_delta":
            self._sign(index, part, delta.signature)
            return ()
        return self._with(part, delta.text or delta.thinking or delta.partial_json)

    def _sign(self, index: int, part: Part, signature: str) -> None:
        self._signatures[index] = self._signatures.get(index, "") + signature
        if self._signatures[index]:
            part.replay = _replay(Replay(signature=self._signatures[index]))

    @staticmethod
    def _with(part: Part, piece: str) -> Sequence[Delta]:
        return (part.add(piece),) if piece else ()

    def _count(self, usage: _Usage | None) -> None:
        """The counts are those of the whole call so far; the later ones may leave some out."""
        if usage is None:
            return
        before = self.usage
        thinking = usage.output_tokens_details and usage.output_tokens_details.thinking_tokens
        self.usage = Usage(
            _later(usage.input_tokens, before.input_tokens),
            _later(usage.output_tokens, before.output_tokens),
            _later(usage.cache_read_input_tokens, before.cache_read_tokens),
            _later(usage.cache_creation_input_tokens, before.cache_write_tokens),
            _later(thinking, before.reasoning_tokens),
        )


def _later(now: int | None, before: int | None) -> int | None:
    return before if now is None else now


def _replay(value: Replay) -> Raw:
    return Raw(msgspec.json.encode(value))
