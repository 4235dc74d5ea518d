"""A valid request in each format, and how a test spoils it. Above: tests of `refusal`.

Each holds what its format has: an image, a thought, two calls and their results out of order.
"""

from copy import deepcopy
from typing import Any, NamedTuple

from brain_testing.model_server.pictures import PNG
from brain_testing.model_server.refusal import refusal
from brain_testing.model_server.seals import encrypted_of, signature_of
from brain_testing.model_server.strict import Dialect, Json

URL = f"data:image/png;base64,{PNG}"
SCHEMA: Json = {"type": "object", "properties": {"text": {"type": "string"}}}


class Case(NamedTuple):
    """What is put where, and a part of what the provider says of it.

    `where` are the steps to it, joined by dots; if the last is `+3`, it becomes the fourth element.
    """

    where: str
    value: Any
    says: str


GONE = object()
"""In place of a value: the field, or the element, is left out."""


def spoiled(dialect: Dialect, case: Case) -> str:
    """Why the spoiled request is refused; it must be."""
    body = deepcopy(VALID[dialect])
    *path, last = case.where.split(".")
    at: Any = body
    for step in path:
        at = at[_key(at, step)]
    if case.value is GONE:
        del at[_key(at, last)]
    elif last.startswith("+"):
        at.insert(int(last), case.value)
    else:
        at[_key(at, last)] = case.value
    said = refusal(dialect, body)
    assert said is not None, "the request was taken as valid"
    return said


def _key(at: Any, step: str) -> Any:
    return int(step) if isinstance(at, list) else step


CHAT: Json = {
    "model": "m",
    "stream": True,
    "stream_options": {"include_usage": True},
    "tools": [
        {"type": "function", "function": {"name": "ask", "description": "", "parameters": SCHEMA}}
    ],
    "messages": [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look."},
                {"type": "image_url", "image_url": {"url": URL}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "Hm.",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "ask", "arguments": "{}"}},
                {"id": "b", "type": "function", "function": {"name": "ask", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "b", "content": "2"},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "user", "content": "And?"},
    ],
}

RESPONSES: Json = {
    "model": "m",
    "stream": True,
    "store": False,
    "instructions": "Be brief.",
    "include": ["reasoning.encrypted_content"],
    "tools": [
        {
            "type": "function",
            "name": "ask",
            "description": "",
            "parameters": SCHEMA,
            "strict": False,
        }
    ],
    "input": [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Look."},
                {"type": "input_image", "image_url": URL, "detail": "auto"},
            ],
        },
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "Hm."}],
            "encrypted_content": encrypted_of("Hm."),
        },
        {"type": "function_call", "call_id": "a", "name": "ask", "arguments": "{}"},
        {"type": "function_call", "call_id": "b", "name": "ask", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "b", "output": "2"},
        {
            "type": "function_call_output",
            "call_id": "a",
            "output": [{"type": "input_image", "image_url": URL}],
        },
        {"role": "assistant", "content": "Both are here."},
        {"role": "user", "content": "And?"},
    ],
}

ANTHROPIC: Json = {
    "model": "m",
    "max_tokens": 4096,
    "stream": True,
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "tools": [{"name": "ask", "description": "", "input_schema": SCHEMA}],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look."},
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": PNG},
                },
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": signature_of("Hm.")},
                {"type": "tool_use", "id": "a", "name": "ask", "input": {}},
                {"type": "tool_use", "id": "b", "name": "ask", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "b",
                    "content": [{"type": "text", "text": "2"}],
                },
                {"type": "tool_result", "tool_use_id": "a", "content": "1", "is_error": True},
            ],
        },
    ],
}
VALID: dict[Dialect, Json] = {
    "openai-chat": CHAT,
    "openai-responses": RESPONSES,
    "anthropic-messages": ANTHROPIC,
}
