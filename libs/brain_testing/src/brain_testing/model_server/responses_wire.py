"""A scripted answer in OpenAI's Responses format. Above: `server`. Below: `parts`.

Each part is an item of the output; a message has one content part, a thought one summary part.
"""

import json
from collections.abc import Iterator

from brain_testing.model_server.errors import openai_words
from brain_testing.model_server.parts import Closed, Happening, Opened, Part, Piece, Told
from brain_testing.model_server.script import StreamError, Used
from brain_testing.model_server.seals import encrypted_of
from brain_testing.model_server.strict import Json

_ID = "resp_67c9fdcecf488190bdd9a0409de3a1ec07b8b0ad4e5eb654"
_CREATED = 1_741_290_958
_PREFIXES = {"text": "msg", "refusal": "msg", "call": "fc", "thinking": "rs", "sealed": "rs"}
_NAMES = {
    "text": "response.output_text",
    "refusal": "response.refusal",
    "call": "response.function_call_arguments",
    "thinking": "response.reasoning_summary_text",
}
_WHOLE = {"text": "text", "refusal": "refusal", "call": "arguments", "thinking": "text"}
_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


class ResponsesWire:
    """Streams one answer."""

    def __init__(self, told: Told, body: Json) -> None:
        self._told = told
        self._asked = body
        self._number = -1
        self._output: dict[int, Json] = {}

    def begin(self) -> Iterator[bytes]:
        for kind in ("created", "in_progress"):
            yield self._event(f"response.{kind}", response=self._response("in_progress", [], None))

    def happened(self, what: Happening) -> Iterator[bytes]:
        if isinstance(what, StreamError):
            yield self._event(
                "error", code=openai_words(what.status)[1], message=what.message, param=None
            )
        elif isinstance(what, Opened):
            yield from self._open(what.part)
        elif isinstance(what, Piece) and what.part.kind != "sealed":
            piece = {"delta": what.text, **_LOGPROBS.get(what.part.kind, {})}
            yield self._event(f"{_NAMES[what.part.kind]}.delta", **_where(what.part), **piece)
        elif isinstance(what, Closed):
            yield from self._close(what.part)

    def end(self) -> Iterator[bytes]:
        output = [self._output[index] for index in sorted(self._output)]
        response = self._ended(output)
        yield self._event(f"response.{response['status']}", response=response)

    def whole(self) -> Json:
        """The answer as one JSON object."""
        return self._ended([_item(part, "completed") for part in self._told.parts()])

    def _open(self, part: Part) -> Iterator[bytes]:
        item = _item(part, "in_progress") | _EMPTY.get(part.kind, {})
        yield self._event("response.output_item.added", output_index=part.index, item=item)
        if part.kind in _PARTS:
            yield self._event(f"{_PARTS[part.kind]}.added", **_where(part), part=_inner(part))

    def _close(self, part: Part) -> Iterator[bytes]:
        if part.kind in _NAMES:
            whole = {_WHOLE[part.kind]: part.text, **_LOGPROBS.get(part.kind, {})}
            yield self._event(f"{_NAMES[part.kind]}.done", **_where(part), **whole)
        if part.kind in _PARTS:
            yield self._event(f"{_PARTS[part.kind]}.done", **_where(part), part=_inner(part))
        self._output[part.index] = item = _item(part, "completed")
        yield self._event("response.output_item.done", output_index=part.index, item=item)

    def _ended(self, output: list[Json]) -> Json:
        status = "incomplete" if self._told.finish in _INCOMPLETE else "completed"
        return self._response(status, output, _usage(self._told.used))

    def _response(self, status: str, output: list[Json], usage: Json | None) -> Json:
        reason = _INCOMPLETE.get(self._told.finish) if status == "incomplete" else None
        return {
            "id": _ID,
            "object": "response",
            "created_at": _CREATED,
            "status": status,
            "error": None,
            "incomplete_details": reason and {"reason": reason},
            "instructions": self._asked.get("instructions"),
            "model": self._asked["model"],
            "output": output,
            "parallel_tool_calls": True,
            "reasoning": {"effort": None, "summary": None},
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": self._asked.get("tools", []),
            "top_p": 1.0,
            "usage": usage,
            "metadata": {},
        }

    def _event(self, kind: str, **fields: object) -> bytes:
        self._number += 1
        data = json.dumps({"type": kind, "sequence_number": self._number, **fields})
        return f"event: {kind}\ndata: {data}\n\n".encode()


_PARTS = {
    "text": "response.content_part",
    "refusal": "response.content_part",
    "thinking": "response.reasoning_summary_part",
}
_LOGPROBS: dict[str, Json] = {"text": {"logprobs": []}}
_EMPTY: dict[str, Json] = {
    "text": {"content": []},
    "refusal": {"content": []},
    "thinking": {"summary": [], "encrypted_content": ""},
}


def _where(part: Part) -> Json:
    where: Json = {"item_id": _id(part), "output_index": part.index}
    if part.kind == "thinking":
        return {**where, "summary_index": 0}
    if part.kind == "call":
        return where
    return {**where, "content_index": 0}


def _id(part: Part) -> str:
    return f"{_PREFIXES[part.kind]}_{part.index}"


def _inner(part: Part) -> Json:
    if part.kind == "thinking":
        return {"type": "summary_text", "text": part.text}
    if part.kind == "refusal":
        return {"type": "refusal", "refusal": part.text}
    return {"type": "output_text", "text": part.text, "annotations": [], "logprobs": []}


def _item(part: Part, status: str) -> Json:
    if part.kind == "call":
        called = {"call_id": part.call_id, "name": part.name, "arguments": part.text}
        return {"type": "function_call", "id": _id(part), "status": status, **called}
    if part.kind in ("thinking", "sealed"):
        shown = part.text if part.kind == "thinking" else ""
        summary = [_inner(part)] if part.kind == "thinking" else []
        encrypted = encrypted_of(shown)
        item: Json = {"type": "reasoning", "id": _id(part), "summary": summary}
        return {**item, "encrypted_content": encrypted}
    content = [_inner(part)]
    message: Json = {"type": "message", "id": _id(part), "status": status, "role": "assistant"}
    return {**message, "content": content}


def _usage(used: Used) -> Json:
    read = used.input + used.cached + used.written
    return {
        "input_tokens": read,
        "input_tokens_details": {
            "cached_tokens": used.cached,
            "cache_write_tokens": used.written,
        },
        "output_tokens": used.output,
        "output_tokens_details": {"reasoning_tokens": used.reasoning},
        "total_tokens": read + used.output,
    }
