"""Whatever a service sends and whatever a model writes, a call has exactly one result."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brain.engine.tool.dispatch import HttpToolCaller
from brain_core.content import ToolResult
from brain_testing.raw_script import Close, Read, Send, answers, event, head, ok, response
from brain_testing.tool_driver import ToolDriver, binding, said, start
from brain_testing.tool_server import ToolServer

bounded = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@dataclass
class Bench:
    """A service and a caller in a loop of their own, for one example after the other."""

    runner: asyncio.Runner
    server: ToolServer
    caller: HttpToolCaller

    def call(self, arguments: str = "{}") -> ToolResult:
        async def call() -> ToolResult:
            return await start(self.caller, arguments).result()

        return self.runner.run(call())

    def works(self) -> bool:
        """Whether the next call is as good as ever."""
        self.server.plays(*answers(ok("still here")))
        return said(self.call()) == "still here"


SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "minimum": 0},
        "s": {"type": "string", "maxLength": 3, "pattern": "^[a-z]*$"},
        "when": {"type": "string", "format": "date-time"},
        "tree": {"$ref": "#/$defs/tree"},
    },
    "additionalProperties": False,
    "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
}


@pytest.fixture
def bench() -> Iterator[Bench]:
    driver, server = ToolDriver(), ToolServer()
    with asyncio.Runner() as runner:
        runner.run(server.__aenter__())
        bound = binding(server.url(), input_schema=SCHEMA, max_output_bytes=5000)
        yield Bench(runner, server, driver.caller(bound))
        runner.run(driver.__aexit__(None, None, None))
        runner.run(server.__aexit__(None, None, None))


def check(result: ToolResult) -> None:
    assert result.content
    if result.unknown_outcome and isinstance(result.code, str):
        assert result.is_error
    if not result.is_error:
        assert not isinstance(result.code, str)


FRAGMENTS = st.sampled_from(
    [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 500 X\r\n", b"Content-Type: application/json\r\n",
     b"Content-Type: text/event-stream\r\n", b"Content-Length: 44\r\n", b"Connection: close\r\n",
     b"Transfer-Encoding: chunked\r\n", b"Content-Length: -1\r\n", b"\r\n", b"\n", b"2c\r\n",
     b"0\r\n\r\n", json.dumps(ok()).encode(), b"event: result\n", b"data: 1\n", b"\x00\xff", b": x"]
)  # fmt: skip


@pytest.mark.requirement("TOOL-09", "OUT-03", "OUT-05")
@bounded
@given(st.lists(FRAGMENTS | st.binary(max_size=20), max_size=12).map(b"".join))
def test_any_bytes_as_a_response_give_one_result(bench: Bench, sent: bytes) -> None:
    bench.server.plays(Read(), Send(sent), Close())
    check(bench.call())
    assert bench.works()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "data", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)
RESULTS = st.fixed_dictionaries(
    {},
    optional={
        "content": JSON | st.lists(st.just({"type": "text", "text": "ok"}) | JSON, max_size=3),
        "is_error": JSON,
        "unknown_outcome": JSON,
        "structured_content": JSON,
        "extra": JSON,
    },
)


@pytest.mark.requirement("TOOL-09", "REPLY-02", "REPLY-03")
@bounded
@given(RESULTS, st.booleans())
def test_any_json_as_a_result_gives_one_result(bench: Bench, sent: Any, streamed: bool) -> None:
    if streamed:
        script = (Send(head("text/event-stream") + event("result", sent)), Close())
    else:
        script = (Send(response(sent)),)
    bench.server.plays(Read(), *script)
    check(bench.call())
    assert bench.works()


@pytest.mark.requirement("TOOL-09", "REPLY-06", "REPLY-07")
@bounded
@given(st.lists(FRAGMENTS | st.binary(max_size=20), max_size=20), st.integers(1, 7))
def test_any_bytes_as_a_stream_give_one_result(bench: Bench, sent: list[bytes], piece: int) -> None:
    body = Send(b"".join(sent), piece)
    bench.server.plays(Read(), Send(head("text/event-stream", "Connection: close")), body, Close())
    check(bench.call())
    assert bench.works()


ARGUMENTS = st.dictionaries(st.sampled_from(["n", "s", "when", "tree", "x"]), JSON, max_size=4)


@pytest.mark.requirement("TOOL-02", "TOOL-04", "TOOL-09")
@bounded
@given(ARGUMENTS.map(json.dumps) | st.text(max_size=20) | st.text('{}[]",:0e\\u', max_size=20))
def test_arguments_are_refused_or_reach_the_service_as_they_are(
    bench: Bench, arguments: str
) -> None:
    bench.server.requests.clear()
    bench.server.plays(*answers(ok()))
    result = bench.call(arguments)
    check(result)
    if result.code == "refused_arguments":
        assert bench.server.requests == []
    else:
        (request,) = bench.server.requests
        assert request.json["arguments"] == json.loads(arguments)
