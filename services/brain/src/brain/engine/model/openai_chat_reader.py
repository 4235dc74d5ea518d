"""An answer in OpenAI's chat completions format. Above: `openai_chat`.

Below: `openai_chat_calls`, `draft`.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from brain.engine.model.chat_quirks import Quirks
from brain.engine.model.draft import Draft, Part
from brain.engine.model.openai_chat_calls import CallDelta, Calls, arguments_of
from brain.engine.model.openai_chat_request import Replay
from brain.engine.model.protocol import Answer, Delta
from brain.engine.model.provider_errors import ProviderError, read_error
from brain.engine.model.reasoning_details import Details
from brain_core.usage import Usage

_DONE = b"[DONE]"
_CUT_OFF = ("length", "max_tokens", "model_length")
_FILTERED = ("safety", "recitation", "blocklist", "prohibited_content", "spii")
"""What Google calls its filters where it doesn't translate them."""

_FAILED = ("content_filter", "function_call_filter", "error", "insufficient_system_resource")


class _Message(Struct, frozen=True):
    """A piece of the answer."""

    content: str | list[dict[str, Any]] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: Any = None
    reasoning_details: list[dict[str, Any]] | None = None
    tool_calls: list[CallDelta] | None = None


class _Choice(Struct, frozen=True):
    index: int = 0
    delta: _Message | None = None
    finish_reason: str | None = None


class _Chunk(Struct, frozen=True):
    choices: list[_Choice] | None = None
    usage: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class _Prompt(Struct, frozen=True):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Completion(Struct, frozen=True):
    reasoning_tokens: int | None = None


class _Usage(Struct, frozen=True):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Prompt | None = None
    completion_tokens_details: _Completion | None = None
    prompt_cache_hit_tokens: int | None = None
    total_tokens: int | None = None
    cost: float | None = None


_decode = msgspec.json.Decoder(_Chunk).decode
_Field = Literal["reasoning_content", "reasoning"]


class ChatReader:
    """Reads one answer."""

    def __init__(self, quirks: Quirks) -> None:
        self.done = False
        self.usage = Usage()
        self._quirks = quirks
        self._draft = Draft()
        self._calls = Calls(self._draft)
        self._text: Part | None = None
        self._thought: Part | None = None
        self._field: _Field | None = None
        self._details = Details()
        self._finish_reason: str | None = None
        self._error: ProviderError | None = None

    def read(self, data: bytes) -> Sequence[Delta]:
        """The pieces in one event's data. Raises: MsgspecError."""
        if data.strip() == _DONE:
            self.done = True
            return ()
        chunk = _decode(data)
        if chunk.usage is not UNSET and chunk.usage != b"null":
            self._count(chunk.usage)
        if chunk.error is not UNSET and chunk.error != b"null":
            self._error, self.done = read_error(data), True
            return ()
        pieces: list[Delta] = []
        for choice in chunk.choices or ():
            if choice.index == 0:
                self._finish_reason = choice.finish_reason or self._finish_reason
                if choice.delta is not None:
                    pieces += self._pieces(choice.delta)
        return pieces

    def end(self) -> Answer | ProviderError | None:
        """What the stream came to; None if the answer isn't whole."""
        if self._error is not None:
            return self._error
        if self._finish_reason is None and not (self.done and self._draft):
            return None
        # Google adds why: `content_filter: SAFETY`.
        reason, _, why = (self._finish_reason or "").lower().partition(": ")
        if reason in _FILTERED:
            reason, why = "content_filter", reason
        if reason in _FAILED:
            return ProviderError((reason,), why)
        self._keep_replay()
        return self._draft.answer(cut_off=reason in _CUT_OFF, usage=self.usage)

    def _pieces(self, message: _Message) -> Iterator[Delta]:
        if thought := self._thought_in(message):
            yield self._thinking().add(thought)
        for detail in message.reasoning_details or ():
            self._details.add(detail)
        if isinstance(message.content, list):
            yield from self._parts(message.content)
        elif text := message.content or message.refusal:
            yield self._saying().add(text)
        for call in message.tool_calls or ():
            part = self._calls.part(call)
            if arguments := arguments_of(call):
                yield part.add(arguments)

    def _thought_in(self, message: _Message) -> str:
        """Servers name the field of thoughts in two ways, and some fill in both with the same."""
        if message.reasoning_content:
            self._field = "reasoning_content"
            return message.reasoning_content
        if isinstance(message.reasoning, str) and message.reasoning:
            self._field = self._field or "reasoning"
            return message.reasoning
        return ""

    def _parts(self, content: list[dict[str, Any]]) -> Iterator[Delta]:
        """Mistral's models that think stream lists of parts."""
        for part in content:
            if part.get("type") == "text" and part.get("text"):
                yield self._saying().add(str(part["text"]))
            elif part.get("type") == "thinking":
                thoughts = msgspec.convert(part.get("thinking") or [], list[dict[str, Any]])
                if text := "".join(str(each.get("text") or "") for each in thoughts):
                    yield self._thinking().add(text)

    def _saying(self) -> Part:
        self._text = self._text or self._draft.open("text")
        return self._text

    def _thinking(self) -> Part:
        self._thought = self._thought or self._draft.open("thinking")
        return self._thought

    def _keep_replay(self) -> None:
        replay = Replay(self._field, self._details.whole, self._calls.extras())
        if replay != Replay():
            self._thinking().replay = Raw(msgspec.json.encode(replay))

    def _count(self, raw: Raw) -> None:
        try:
            usage = msgspec.json.decode(raw, type=_Usage, strict=False)
        except msgspec.MsgspecError:
            return  # what can't be read is unknown
        cached, written = _cached(usage), None
        if usage.prompt_tokens_details is not None:
            written = usage.prompt_tokens_details.cache_write_tokens
        completion = usage.completion_tokens_details
        self.usage = Usage(
            without(usage.prompt_tokens, cached, written),
            _written(usage),
            cached,
            written,
            completion.reasoning_tokens if completion is not None else None,
            usage.cost if self._quirks.reports_cost else None,
        )


def _cached(usage: _Usage) -> int | None:
    details = usage.prompt_tokens_details
    if details is not None and details.cached_tokens is not None:
        return details.cached_tokens
    return usage.prompt_cache_hit_tokens


def _written(usage: _Usage) -> int | None:
    """All that was written: some servers count thoughts only in the total, and bill them."""
    if usage.completion_tokens is None or usage.prompt_tokens is None or not usage.total_tokens:
        return usage.completion_tokens
    return max(usage.completion_tokens, usage.total_tokens - usage.prompt_tokens)


def without(tokens: int | None, *cached: int | None) -> int | None:
    """Tokens that were read less those of the cache, which these formats count in."""
    return None if tokens is None else max(0, tokens - sum(part or 0 for part in cached))
