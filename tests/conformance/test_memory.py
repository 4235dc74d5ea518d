"""Whatever a service sends, and however much, the engine's memory stays bounded (OUT-10)."""

from collections.abc import Callable
from typing import Any

import pytest

from brain_testing.api import Api, Json
from brain_testing.engine_process import engine_process
from brain_testing.plugin import StartBrain
from brain_testing.raw_script import Flood, Read, Script, Send, event, head
from brain_testing.reading import of_type
from brain_testing.tool_server import ToolServer

Connect = Callable[..., Api]
MIB = 1024 * 1024
GROWTH = 64 * MIB
"""Generous: what a call may hold is its `max_output_bytes` and some 100 KiB."""

_JSON = head("application/json")
_CHUNKED = head("application/json", "Transfer-Encoding: chunked")
_EVENTS = head("text/event-stream")
_SENT = b"HTTP/1.1 200 OK\r\n"


def endless(start: bytes, more: bytes) -> Script:
    return (Read(), Send(start), Flood(more))


ENDLESS: dict[str, tuple[Script, str]] = {
    "json": (endless(_JSON, b" " * 65536), "too_large"),
    "one_string": (endless(_JSON + b'{"x":"', b"x" * 65536), "too_large"),
    "large_chunks": (endless(_CHUNKED, b"10000\r\n" + b" " * 65536 + b"\r\n"), "too_large"),
    "tiny_chunks": (endless(_CHUNKED, b"1\r\n \r\n" * 10_000), "too_large"),
    "chunk_extensions": (endless(_CHUNKED + b"1;", b"x=y;" * 10_000), "bad_http"),
    "chunk_size": (endless(_CHUNKED, b"0" * 65536), "bad_http"),
    "header_lines": (endless(_SENT, b"X-More: and more\r\n" * 3_000), "bad_http"),
    "one_header": (endless(_SENT + b"X-Long: ", b"x" * 65536), "bad_http"),
    "status_line": (endless(b"HTTP/1.1 200 ", b"O" * 65536), "bad_http"),
    "informational": (endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2_000), "bad_http"),
    "progress": (endless(_EVENTS, event("progress", "x" * 1000) * 60), "bad_event"),
    "good_progress": (endless(_EVENTS, event("progress", f'"{"x" * 10_000}"') * 6), "too_large"),
    "comments": (endless(_EVENTS, b": still here\n\n" * 4_000), "too_large"),
    "one_line": (endless(_EVENTS, b"x" * 65536), "too_large"),
    "one_event": (endless(_EVENTS, b"data: x\n" * 8_000), "too_large"),
    "fields": (endless(_EVENTS, b"id: 1\nretry: 1\nother: x\n" * 2_000), "too_large"),
}  # fmt: skip
EVERY_CALL = "\n".join(f"/call {name} {{}}" for name in ENDLESS)


def binding(name: str, url: str) -> Json:
    fields: dict[str, Any] = {"name": name, "description": "A tool.", "url": url}
    return {**fields, "input_schema": {"type": "object"}, "tenants": ["local"]}


@pytest.mark.requirement("OUT-10", "OUT-05")
async def test_endless_answers_of_every_form_cost_a_bounded_amount(
    start_brain: StartBrain, connect: Connect
) -> None:
    async with ToolServer() as server:
        for name, (script, _) in ENDLESS.items():
            server.plays(*script, path=f"/{name}")
        tools = [binding(name, server.url(f"/{name}")) for name in ENDLESS]
        brain = await start_brain(tools=tools)
        api = connect(brain)
        async with engine_process(brain, api) as engine:
            session_id = await api.create(*ENDLESS)
            await api.turn(session_id, "hello")
            before = engine.resident_bytes()
            for _ in range(3):
                events = await api.turn(session_id, EVERY_CALL)
                codes = {data["name"]: data["code"] for data in of_type(events, "tool.result")}
                assert codes == {name: code for name, (_, code) in ENDLESS.items()}
            assert engine.peak_bytes() - before < GROWTH
