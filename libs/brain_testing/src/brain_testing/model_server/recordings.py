"""Streams written down by hand, event by event, as the providers document them. Above: tests.

In each the model thinks, says `I'll check.`, and calls `ask` with `{"n":7}`. What the scripted
server never sends by itself is here: pings, comments, line ends of both kinds, fields and events
that a client has no use for, thoughts in several parts.
"""

import json

from brain_testing.model_server.strict import Dialect, Json

SAID = "I'll check."
THOUGHT = "The user wants seven."


def _events(*events: Json, newline: str = "\n") -> bytes:
    lines = (f"event: {e['type']}{newline}data: {json.dumps(e)}{newline * 2}" for e in events)
    return "".join(lines).encode()


def _chunk(delta: Json, finish: str | None = None, **more: object) -> bytes:
    choice: Json = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    chunk = {
        "id": "chatcmpl-CQ8sPzNbY2nVkC9D1a5sQm0dRr5rj",
        "object": "chat.completion.chunk",
        "created": 1_760_000_000,
        "model": "gpt-5.5-2026-04-23",
        "service_tier": "default",
        "system_fingerprint": None,
        "choices": [] if finish == "usage" else [choice],
        "usage": None,
        **more,
    }
    return f"data: {json.dumps(chunk)}\n\n".encode()


def _call(index: int, **fields: object) -> Json:
    return {"tool_calls": [{"index": index, **fields}]}


CHAT = b"".join(
    (
        b": OPENROUTER PROCESSING\n\n",
        _chunk({"role": "assistant", "content": "", "refusal": None}),
        _chunk({"reasoning_content": THOUGHT}),
        _chunk({"content": "I'll "}),
        _chunk({"content": "check."}),
        _chunk(_call(0, id="call_Q1", type="function", function={"name": "ask", "arguments": ""})),
        _chunk(_call(0, function={"arguments": '{"n"'})),
        b": keep-alive\r\n\r\n",
        _chunk(_call(0, function={"arguments": ":7}"})),
        _chunk({}, "tool_calls"),
        _chunk(
            {},
            "usage",
            usage={
                "prompt_tokens": 61,
                "completion_tokens": 30,
                "total_tokens": 91,
                "prompt_tokens_details": {"cached_tokens": 32, "cache_write_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 12},
            },
        ),
        b"data: [DONE]\n\n",
    )
)

ANTHROPIC = _events(
    {
        "type": "message_start",
        "message": {
            "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {
                "input_tokens": 29,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 32,
                "output_tokens": 2,
                "service_tier": "standard",
            },
        },
    },
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "thinking", "thinking": "", "signature": ""},
    },
    {"type": "ping"},
    *(
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "thinking_delta", "thinking": part},
        }
        for part in ("The user ", "wants seven.")
    ),
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "signature_delta", "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrk"},
    },
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "text_delta", "text": "I'll check."},
    },
    {"type": "content_block_stop", "index": 1},
    {
        "type": "content_block_start",
        "index": 2,
        "content_block": {"type": "tool_use", "id": "toolu_01T1x1", "name": "ask", "input": {}},
    },
    *(
        {
            "type": "content_block_delta",
            "index": 2,
            "delta": {"type": "input_json_delta", "partial_json": part},
        }
        for part in ("", '{"n":', "7}")
    ),
    {"type": "content_block_stop", "index": 2},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 30, "output_tokens_details": {"thinking_tokens": 12}},
    },
    {"type": "message_stop"},
    newline="\r\n",
)

_REASONING: Json = {
    "id": "rs_68f1a",
    "type": "reasoning",
    "summary": [
        {"type": "summary_text", "text": "The user wants"},
        {"type": "summary_text", "text": "seven."},
    ],
    "encrypted_content": "gAAAAABo8Zr1PzNbY2nVkC9D1a5sQm0dRr5rj",
}
_MESSAGE: Json = {
    "id": "msg_68f1b",
    "type": "message",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "text": SAID, "annotations": [], "logprobs": []}],
}
_FUNCTION: Json = {
    "id": "fc_68f1c",
    "type": "function_call",
    "status": "completed",
    "call_id": "call_Q1",
    "name": "ask",
    "arguments": '{"n":7}',
}


def _response(status: str, output: list[Json], usage: Json | None) -> Json:
    return {
        "id": "resp_68f19",
        "object": "response",
        "created_at": 1_760_000_000,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": "gpt-5.5-2026-04-23",
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": usage,
    }


def _numbered(*events: Json) -> list[Json]:
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _thought_part(index: int, text: str) -> list[Json]:
    where = {"item_id": "rs_68f1a", "output_index": 0, "summary_index": index}
    kind = "response.reasoning_summary"
    whole = {"type": "summary_text", "text": text}
    return [
        {"type": f"{kind}_part.added", **where, "part": {"type": "summary_text", "text": ""}},
        {"type": f"{kind}_text.delta", **where, "delta": text},
        {"type": f"{kind}_text.done", **where, "text": text},
        {"type": f"{kind}_part.done", **where, "part": whole},
    ]


_SAYS = {"item_id": "msg_68f1b", "output_index": 1, "content_index": 0}
_CALLS = {"item_id": "fc_68f1c", "output_index": 2}
_ADDED = "response.output_item.added"
_DONE = "response.output_item.done"

RESPONSES = _events(
    *_numbered(
        {"type": "response.created", "response": _response("in_progress", [], None)},
        {"type": "response.in_progress", "response": _response("in_progress", [], None)},
        {"type": _ADDED, "output_index": 0, "item": {**_REASONING, "summary": []}},
        *_thought_part(0, "The user wants"),
        *_thought_part(1, "seven."),
        {"type": _DONE, "output_index": 0, "item": _REASONING},
        {
            "type": _ADDED,
            "output_index": 1,
            "item": {**_MESSAGE, "status": "in_progress", "content": []},
        },
        {
            "type": "response.content_part.added",
            **_SAYS,
            "part": {**_MESSAGE["content"][0], "text": ""},
        },
        {"type": "response.output_text.delta", **_SAYS, "delta": "I'll ", "logprobs": []},
        {"type": "response.output_text.delta", **_SAYS, "delta": "check.", "logprobs": []},
        {"type": "response.output_text.done", **_SAYS, "text": SAID, "logprobs": []},
        {"type": "response.content_part.done", **_SAYS, "part": _MESSAGE["content"][0]},
        {"type": _DONE, "output_index": 1, "item": _MESSAGE},
        {
            "type": _ADDED,
            "output_index": 2,
            "item": {**_FUNCTION, "status": "in_progress", "arguments": ""},
        },
        {"type": "response.function_call_arguments.delta", **_CALLS, "delta": '{"n":'},
        {"type": "response.function_call_arguments.delta", **_CALLS, "delta": "7}"},
        {"type": "response.function_call_arguments.done", **_CALLS, "arguments": '{"n":7}'},
        {"type": _DONE, "output_index": 2, "item": _FUNCTION},
        {
            "type": "response.completed",
            "response": _response(
                "completed",
                [_REASONING, _MESSAGE, _FUNCTION],
                {
                    "input_tokens": 61,
                    "input_tokens_details": {"cached_tokens": 32, "cache_write_tokens": 0},
                    "output_tokens": 30,
                    "output_tokens_details": {"reasoning_tokens": 12},
                    "total_tokens": 91,
                },
            ),
        },
    )
)

RECORDED: dict[Dialect, bytes] = {
    "openai-chat": CHAT,
    "openai-responses": RESPONSES,
    "anthropic-messages": ANTHROPIC,
}
