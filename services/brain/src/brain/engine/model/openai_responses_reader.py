"""An answer in OpenAI's Responses format. Above: `openai_responses`. Below: `draft`.

An answer is a list of items: messages, calls, thoughts. Each is streamed in pieces and then said
once more as a whole; what was streamed counts, and the whole where nothing was.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from brain.engine.model.draft import Draft, Kind, Part
from brain.engine.model.openai_chat_reader import without
from brain.engine.model.openai_responses_request import Replay
from brain.engine.model.protocol import Answer, Delta
from brain.engine.model.provider_errors import ProviderError, read_error
from brain.engine.model.typed_events import TypedEvents
from brain_core.usage import Usage

_STREAMED: dict[str, Kind] = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.reasoning_summary_text.delta": "thinking",
    "response.reasoning_text.delta": "thinking",
    "response.function_call_arguments.delta": "tool_arguments",
}
_ENDS = ("response.completed", "response.incomplete", "response.failed")
_GAP = "\n\n"


class _Content(Struct, frozen=True):
    text: str | None = None
    refusal: str | None = None


class _Item(Struct, frozen=True):
    type: str = ""
    name: str = ""
    arguments: str = ""
    content: list[_Content] | None = None
    summary: list[_Content] | None = None
    encrypted_content: str | None = None


class _Cached(Struct, frozen=True):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Reasoned(Struct, frozen=True):
    reasoning_tokens: int | None = None


class _Usage(Struct, frozen=True):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _Cached | None = None
    output_tokens_details: _Reasoned | None = None


class _Incomplete(Struct, frozen=True):
    reason: str = ""


class _Response(Struct, frozen=True):
    output: list[Raw] = []
    usage: _Usage | None = None
    error: Raw | UnsetType = UNSET
    incomplete_details: _Incomplete | None = None


class _Event(Struct, frozen=True):
    """Every event of a stream; each has only some of these."""

    type: str
    output_index: int = 0
    summary_index: int = 0
    delta: str | None = None
    item: Raw | UnsetType = UNSET
    response: _Response | None = None


_KINDS = frozenset(
    {*_STREAMED, *_ENDS, "response.output_item.added", "response.output_item.done", "error"}
)
_decode = TypedEvents(_Event, _KINDS).decode
_decode_item = msgspec.json.Decoder(_Item).decode


class ResponsesReader:
    """Reads one answer."""

    def __init__(self) -> None:
        self.done = False
        self.usage = Usage()
        self._draft = Draft()
        self._items: dict[int, Part] = {}
        self._whole: set[int] = set()
        self._cut_off: str | None = None
        self._error: ProviderError | None = None

    def read(self, data: bytes) -> Sequence[Delta]:
        """The pieces in one event's data. Raises: MsgspecError."""
        if data.strip() == b"[DONE]":
            return ()
        event = _decode(data)
        if event is None:
            return ()
        streamed = _STREAMED.get(event.type)
        if streamed is not None:
            return self._piece(event, streamed)
        if event.item is UNSET:
            return list(self._other(event, data))
        if event.type == "response.output_item.added":
            self._begin(event.output_index, _decode_item(event.item))
        elif event.type == "response.output_item.done":
            return list(self._finish(event.output_index, event.item))
        return ()

    def end(self) -> Answer | ProviderError | None:
        """What the stream came to; None if the answer isn't whole."""
        if self._error is not None:
            return self._error
        if not self.done:
            return None
        if self._cut_off == "content_filter":
            return ProviderError(("content_filter",))
        return self._draft.answer(cut_off=self._cut_off is not None, usage=self.usage)

    def _other(self, event: _Event, data: bytes) -> Iterator[Delta]:
        if event.type == "error":
            self._error, self.done = read_error(data), True
        elif event.type == "response.reasoning_summary_part.added" and event.summary_index:
            part = self._items.get(event.output_index)
            if part is not None:
                yield part.add(_GAP)
        elif event.type in _ENDS and event.response is not None:
            self.done = True
            yield from self._conclude(event.type, event.response)

    def _conclude(self, kind: str, response: _Response) -> Iterator[Delta]:
        self._count(response.usage)
        if kind == "response.failed":
            error = b"{}" if response.error is UNSET else bytes(response.error)
            self._error = read_error(error)
        elif response.incomplete_details is not None:
            self._cut_off = response.incomplete_details.reason
        unheard = not self._draft
        for index, item in enumerate(response.output):
            if unheard or index in self._items:
                yield from self._finish(index, item)

    def _piece(self, event: _Event, kind: Kind) -> Sequence[Delta]:
        part = self._items.get(event.output_index)
        if part is None:
            self._items[event.output_index] = part = self._draft.open(kind)
        return (part.add(event.delta),) if event.delta else ()

    def _begin(self, index: int, item: _Item) -> None:
        if item.type == "function_call":
            self._items[index] = self._draft.open("tool_arguments", item.name)
        elif item.type == "reasoning":
            self._items[index] = self._draft.open("thinking")
        elif item.type == "message":
            self._items[index] = self._draft.open("text")

    def _finish(self, index: int, raw: Raw) -> Iterator[Delta]:
        """Take in a whole item, once."""
        if index in self._whole:
            return
        self._whole.add(index)
        item = _decode_item(raw)
        if index not in self._items:
            self._begin(index, item)
        part = self._items.get(index)
        if part is None:
            return
        part.name = part.name or item.name
        if not part.text and (text := _text_of(item)):
            yield part.add(text)
        if item.type == "reasoning" and item.encrypted_content:
            part.replay = _replay(raw)

    def _count(self, usage: _Usage | None) -> None:
        if usage is None:
            return
        details, output = usage.input_tokens_details, usage.output_tokens_details
        cached = details.cached_tokens if details is not None else None
        written = details.cache_write_tokens if details is not None else None
        self.usage = Usage(
            without(usage.input_tokens, cached, written),
            usage.output_tokens,
            cached,
            written,
            output.reasoning_tokens if output is not None else None,
        )


def _text_of(item: _Item) -> str:
    if item.type == "function_call":
        return item.arguments
    if item.type == "message":
        return "".join(part.text or part.refusal or "" for part in item.content or ())
    return _GAP.join(part.text for part in item.summary or item.content or () if part.text)


def _replay(raw: Raw) -> Raw:
    """The item as the provider wants it back: all but its status."""
    item = msgspec.json.decode(raw, type=dict[str, Any])
    item.pop("status", None)
    return Raw(msgspec.json.encode(Replay(item)))
