"""What a model is told, read from a request in any format as the same plain lines. Above: tests.

    ["system: Be brief.", "user: Hi", "thinking: Hm.", 'call 0: ask {"q":1}', "result 0: 42"]

Calls are numbered as they come; a result has the number of its call.
"""

import json
from collections.abc import Iterator
from typing import Any

from brain_testing.model_server.server import Asked
from brain_testing.model_server.strict import Json

_ERROR = "Error:"


def conversation(asked: Asked) -> list[str]:
    """All that the model is told, in order."""
    calls = _Calls()
    if asked.dialect == "openai-chat":
        return list(_chat(asked.body, calls))
    if asked.dialect == "openai-responses":
        return list(_responses(asked.body, calls))
    return list(_anthropic(asked.body, calls))


def tools_told(asked: Asked) -> list[Json]:
    """The tools that the model is told of: `name`, `description` and `input_schema` of each."""
    tools = [tool.get("function", tool) for tool in asked.body.get("tools", ())]
    return [
        {
            "name": tool["name"],
            "description": tool["description"],
            "input_schema": tool.get("input_schema", tool.get("parameters")),
        }
        for tool in tools
    ]


class _Calls:
    """The numbers of calls, by their ids."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def called(self, call_id: str, name: str, arguments: str) -> str:
        number = self._numbers.setdefault(call_id, len(self._numbers))
        return f"call {number}: {name} {arguments}"

    def came(self, call_id: str, content: Any, *, is_error: bool = False) -> Iterator[str]:
        number = self._numbers[call_id]
        for shown in _shown(content):
            text = shown
            if text.startswith(_ERROR):
                is_error, text = True, text.removeprefix(_ERROR).lstrip()
            if text:
                yield f"{'error' if is_error else 'result'} {number}: {text}"


def _chat(body: Json, calls: _Calls) -> Iterator[str]:
    for message in body["messages"]:
        role = message["role"]
        if role == "tool":
            yield from calls.came(message["tool_call_id"], message["content"])
            continue
        if "reasoning_content" in message:
            yield f"thinking: {message['reasoning_content']}"
        yield from (f"{role}: {text}" for text in _shown(message["content"]))
        for call in message.get("tool_calls", ()):
            yield calls.called(call["id"], **call["function"])


def _responses(body: Json, calls: _Calls) -> Iterator[str]:
    if body.get("instructions"):
        yield f"system: {body['instructions']}"
    for item in body["input"]:
        kind = item.get("type", "message")
        if kind == "message":
            yield from (f"{item['role']}: {text}" for text in _shown(item["content"]))
        elif kind == "reasoning":
            yield from (f"thinking: {part['text']}" for part in item["summary"])
        elif kind == "function_call":
            yield calls.called(item["call_id"], item["name"], item["arguments"])
        else:
            yield from calls.came(item["call_id"], item["output"])


def _anthropic(body: Json, calls: _Calls) -> Iterator[str]:
    yield from (f"system: {text}" for text in _shown(body.get("system", [])))
    for message in body["messages"]:
        for block in message["content"]:
            if block["type"] == "thinking":
                yield f"thinking: {block['thinking']}"
            elif block["type"] == "tool_use":
                arguments = json.dumps(block["input"], separators=(",", ":"))
                yield calls.called(block["id"], block["name"], arguments)
            elif block["type"] == "tool_result":
                failed = block.get("is_error", False)
                yield from calls.came(block["tool_use_id"], block["content"], is_error=failed)
            else:
                yield from (f"{message['role']}: {text}" for text in _shown([block]))


def _shown(content: Any) -> Iterator[str]:
    """Texts as they are; an image as its type and its base64."""
    parts: list[Json] = [{"text": content}] if isinstance(content, str) else content or []
    for part in parts:
        if "text" in part:
            yield part["text"]
        elif "source" in part:
            yield f"{part['source']['media_type']} {part['source']['data']}"
        else:
            url: Any = part["image_url"]
            address: str = url if isinstance(url, str) else url["url"]
            yield address.removeprefix("data:").replace(";base64,", " ")
