"""A scripted answer in OpenAI's chat completions format. Above: `server`. Below: `parts`.

Thoughts are streamed as `reasoning_content`, as the servers do it that show them: OpenAI's own
keeps them to itself.
"""

import json
from collections.abc import Iterator

from brain_testing.model_server.errors import error_body
from brain_testing.model_server.parts import Happening, Opened, Part, Piece, Told
from brain_testing.model_server.script import StreamError, Used
from brain_testing.model_server.strict import Json

_ID = "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG"
_CREATED = 1_741_570_283
_FIELDS = {"text": "content", "refusal": "refusal", "thinking": "reasoning_content"}


class ChatWire:
    """Streams one answer."""

    def __init__(self, told: Told, body: Json) -> None:
        self._told = told
        self._model: str = body["model"]
        options: Json = body.get("stream_options") or {}
        self._include_usage: bool = options.get("include_usage", False)

    def begin(self) -> Iterator[bytes]:
        yield self._delta({"role": "assistant", "content": "", "refusal": None})

    def happened(self, what: Happening) -> Iterator[bytes]:
        if isinstance(what, StreamError):
            yield _event(error_body("openai-chat", what.status, what.message))
        elif isinstance(what, Opened) and what.part.kind == "call":
            yield self._delta({"tool_calls": [{"index": what.part.place, **_call(what.part, "")}]})
        elif isinstance(what, Piece) and what.part.kind == "call":
            function = {"arguments": what.text}
            yield self._delta({"tool_calls": [{"index": what.part.place, "function": function}]})
        elif isinstance(what, Piece) and what.part.kind in _FIELDS:
            yield self._delta({_FIELDS[what.part.kind]: what.text})

    def end(self) -> Iterator[bytes]:
        yield self._delta({}, self._told.finish)
        if self._include_usage:
            yield self._chunk([], _usage(self._told.used))
        yield b"data: [DONE]\n\n"

    def whole(self) -> Json:
        """The answer as one JSON object."""
        parts = self._told.parts()
        message: Json = {"role": "assistant", "content": None, "refusal": None}
        for part in parts:
            if part.kind in _FIELDS:
                message[_FIELDS[part.kind]] = part.text
        calls = [_call(part, part.text) for part in parts if part.kind == "call"]
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "finish_reason": self._told.finish}
        return self._about("chat.completion", [{**choice, "logprobs": None}]) | {
            "usage": _usage(self._told.used)
        }

    def _delta(self, delta: Json, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return self._chunk([choice], None)

    def _chunk(self, choices: list[Json], usage: Json | None) -> bytes:
        chunk = self._about("chat.completion.chunk", choices)
        return _event({**chunk, "usage": usage} if self._include_usage else chunk)

    def _about(self, kind: str, choices: list[Json]) -> Json:
        return {
            "id": _ID,
            "object": kind,
            "created": _CREATED,
            "model": self._model,
            "service_tier": "default",
            "system_fingerprint": "fp_44709d6fcb",
            "choices": choices,
        }


def _call(part: Part, arguments: str) -> Json:
    function = {"name": part.name, "arguments": arguments}
    return {"id": part.call_id, "type": "function", "function": function}


def _usage(used: Used) -> Json:
    prompt = used.input + used.cached + used.written
    return {
        "prompt_tokens": prompt,
        "completion_tokens": used.output,
        "total_tokens": prompt + used.output,
        "prompt_tokens_details": {
            "cached_tokens": used.cached,
            "cache_write_tokens": used.written,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": used.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def _event(data: Json) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"
