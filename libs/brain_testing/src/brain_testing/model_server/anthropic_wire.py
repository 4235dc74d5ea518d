"""A scripted answer in Anthropic's Messages format. Above: `server`. Below: `parts`."""

import json
from collections.abc import Iterator

from brain_testing.model_server.errors import error_body
from brain_testing.model_server.parts import Closed, Happening, Opened, Part, Piece, Told
from brain_testing.model_server.script import StreamError
from brain_testing.model_server.seals import signature_of
from brain_testing.model_server.strict import Json

_ID = "msg_014p7gG3wDgGV9EUtLvnow3U"
_REASONS = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}


class AnthropicWire:
    """Streams one answer."""

    def __init__(self, told: Told, body: Json) -> None:
        self._told = told
        self._model: str = body["model"]

    def begin(self) -> Iterator[bytes]:
        message = self._message([], None, self._usage(output=1))
        yield _event("message_start", message=message)

    def happened(self, what: Happening) -> Iterator[bytes]:
        if isinstance(what, StreamError):
            error = error_body("anthropic-messages", what.status, what.message)
            yield _event("error", error=error["error"])
        elif isinstance(what, Opened):
            block = _block(what.part, started=True)
            yield _event("content_block_start", index=what.part.index, content_block=block)
            if what.part.index == 0:
                yield _event("ping")
        elif isinstance(what, Piece) and what.part.kind != "sealed":
            yield _delta(what.part, _piece(what.part, what.text))
        elif isinstance(what, Closed):
            if what.part.kind == "thinking":
                signature = signature_of(what.part.text)
                yield _delta(what.part, {"type": "signature_delta", "signature": signature})
            yield _event("content_block_stop", index=what.part.index)

    def end(self) -> Iterator[bytes]:
        delta = {"stop_reason": self._reason(), "stop_sequence": None}
        yield _event("message_delta", delta=delta, usage=self._usage(self._told.used.output))
        yield _event("message_stop")

    def whole(self) -> Json:
        """The answer as one JSON object."""
        blocks = [_block(part, started=False) for part in self._told.parts()]
        return self._message(blocks, self._reason(), self._usage(self._told.used.output))

    def _reason(self) -> str:
        return "refusal" if self._told.refused else _REASONS[self._told.finish]

    def _message(self, content: list[Json], reason: str | None, usage: Json) -> Json:
        return {
            "id": _ID,
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": content,
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": usage,
        }

    def _usage(self, output: int) -> Json:
        used = self._told.used
        usage: Json = {
            "input_tokens": used.input,
            "cache_creation_input_tokens": used.written,
            "cache_read_input_tokens": used.cached,
            "output_tokens": output,
        }
        if used.reasoning and output == used.output:
            usage["output_tokens_details"] = {"thinking_tokens": used.reasoning}
        return usage


def _block(part: Part, *, started: bool) -> Json:
    """A content block: whole, or as it stands in the event that starts it."""
    text = "" if started else part.text
    if part.kind == "call":
        arguments: Json = {} if started else json.loads(part.text or "{}")
        call_id = f"toolu_{part.place}"
        return {"type": "tool_use", "id": call_id, "name": part.name, "input": arguments}
    if part.kind == "thinking":
        signature = "" if started else signature_of(part.text)
        return {"type": "thinking", "thinking": text, "signature": signature}
    if part.kind == "sealed":
        return {"type": "redacted_thinking", "data": signature_of(str(part.place))}
    return {"type": "text", "text": text}


def _piece(part: Part, text: str) -> Json:
    if part.kind == "call":
        return {"type": "input_json_delta", "partial_json": text}
    if part.kind == "thinking":
        return {"type": "thinking_delta", "thinking": text}
    return {"type": "text_delta", "text": text}


def _delta(part: Part, delta: Json) -> bytes:
    return _event("content_block_delta", index=part.index, delta=delta)


def _event(kind: str, **fields: object) -> bytes:
    data = json.dumps({"type": kind, **fields})
    return f"event: {kind}\ndata: {data}\n\n".encode()
