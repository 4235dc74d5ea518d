"""Tool services in Node.js: the one of the tools page, as it stands there, and one that streams."""

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from brain_testing.api import Api, Json
from brain_testing.desk import within
from brain_testing.plugin import StartBrain
from brain_testing.reading import of_type, only, read_until, said

Connect = Callable[..., Api]
StartWithEcho = Callable[..., Awaitable[Api]]
KEY = "the-key-of-the-tool-service"
HERE = Path(__file__).parent
EXAMPLES = HERE.parent.parent / "examples" / "tools"

pytestmark = pytest.mark.skipif(
    os.environ.get("BRAIN_TEST_NO_NODE") == "1", reason="BRAIN_TEST_NO_NODE=1"
)

MINIMAL_SERVICE = """\
import http from "node:http";

const token = process.env.BRAIN_TOOLS_KEY;

http.createServer(async (req, res) => {
  if (req.headers.authorization !== `Bearer ${token}`) {
    res.writeHead(401).end();
    return;
  }
  let body = "";
  for await (const chunk of req) body += chunk;
  const { tenant_id, session_id, call_id, arguments: args } = JSON.parse(body);
  // Authorize with tenant_id and session_id. Log call_id to match Brain's tool.call event.
  res.writeHead(200, { "Content-Type": "application/json" });
  res.end(JSON.stringify({ content: [{ type: "text", text: args.text }] }));
}).listen(8081, "127.0.0.1");
"""

STREAMING_SERVICE = """\
import http from "node:http";

http.createServer(async (req, res) => {
  let body = "";
  for await (const chunk of req) body += chunk;
  res.writeHead(200, { "Content-Type": "text/event-stream" });
  res.write('event: progress\\ndata: {"status":"waiting_for_operator"}\\n\\n');
  res.write(': a comment\\n\\n');
  const result = { content: [{ type: "text", text: "Operator answered yes." }] };
  res.end(`event: result\\ndata: ${JSON.stringify(result)}\\n\\n`);
}).listen(8081, "127.0.0.1");
"""

ECHO = {
    "name": "echo",
    "description": "Echo text through an external tool service.",
    "input_schema": {
        "type": "object",
        "properties": {"text": {"type": "string", "maxLength": 4096}},
        "required": ["text"],
        "additionalProperties": False,
    },
    "token_env": "BRAIN_TOOLS_KEY",
    "tenants": ["local"],
    "timeout_seconds": 300,
    "max_output_bytes": 1048576,
}


def node() -> str:
    """Where Node.js is. Without it the protocol isn't proved: that fails, and says what to do."""
    found = shutil.which("node")
    if found is None:
        pytest.fail("Node.js isn't installed. Install it, or set BRAIN_TEST_NO_NODE=1.")
    return found


@asynccontextmanager
async def node_service(script: Path) -> AsyncGenerator[str]:
    """The service at work; gives its URL."""
    process = await asyncio.create_subprocess_exec(
        *(node(), "--require", str(HERE / "node_port.cjs"), str(script)),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "BRAIN_TOOLS_KEY": KEY},
    )
    assert process.stdout is not None
    try:
        line = (await within(process.stdout.readline())).decode()
        assert line.startswith("listening on "), f"node said: {line!r}"
        yield f"http://127.0.0.1:{line.split()[-1]}"
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.fixture
def start_with_echo(start_brain: StartBrain, connect: Connect) -> StartWithEcho:
    """A Brain whose `echo` is at a URL; gives the tenant's view of it."""

    async def start(url: str, key: str = KEY) -> Api:
        tools = [{**ECHO, "url": f"{url}/tools/echo"}]
        return connect(await start_brain(tools=tools, env={"BRAIN_TOOLS_KEY": key}))

    return start


@pytest.fixture
def minimal(tmp_path: Path) -> Path:
    """The minimal service, word for word as the tools page has it."""
    script = tmp_path / "minimal.mjs"
    script.write_text(MINIMAL_SERVICE)
    return script


@pytest.mark.requirement("REPLY-01", "TOOL-03", "TOOL-04")
async def test_the_minimal_service_of_the_tools_page_works(
    minimal: Path, start_with_echo: StartWithEcho
) -> None:
    async with node_service(minimal) as url:
        api = await start_with_echo(url)
        session_id = await api.create("echo")
        events = await api.turn(session_id, '/call echo {"text":"hello"}')
        again = await api.turn(session_id, '/call echo {"text":"héllo 𝄞"}\n/call echo {"text":"b"}')
    assert only(events, "tool.result")["content"] == [{"type": "text", "text": "hello"}]
    assert said(events) == "hello"
    assert said(again) == "héllo 𝄞\nb"
    assert not [r for r in of_type(events + again, "tool.result") if r["is_error"]]


@pytest.mark.requirement("OUT-04")
async def test_the_minimal_service_refuses_a_wrong_token(
    minimal: Path, start_with_echo: StartWithEcho
) -> None:
    async with node_service(minimal) as url:
        api = await start_with_echo(url, key="another-key-than-the-service-has")
        events = await api.turn(await api.create("echo"), '/call echo {"text":"hello"}')
    result = only(events, "tool.result")
    assert (result["is_error"], result["unknown_outcome"]) == (True, True)
    assert result["code"] == "http_status"


def test_the_example_is_the_service_of_the_tools_page() -> None:
    assert MINIMAL_SERVICE in (EXAMPLES / "server.mjs").read_text()


@pytest.mark.requirement("REPLY-06", "REPLY-07")
async def test_the_stream_of_the_tools_page_works(
    tmp_path: Path, start_with_echo: StartWithEcho
) -> None:
    script = tmp_path / "streaming.mjs"
    script.write_text(STREAMING_SERVICE)
    async with node_service(script) as url:
        read = await turn_of(await start_with_echo(url), "echo", '{"text":"hello"}')
    assert only(read, "tool.progress")["progress"] == {"status": "waiting_for_operator"}
    assert said(read) == "Operator answered yes."


@pytest.mark.requirement("REPLY-06", "REPLY-07")
async def test_the_streaming_example_works(start_brain: StartBrain, connect: Connect) -> None:
    async with node_service(EXAMPLES / "stream.mjs") as url:
        count = {**ECHO, "name": "count", "input_schema": {"type": "object"}, "url": url}
        api = connect(await start_brain(tools=[count], env={"BRAIN_TOOLS_KEY": KEY}))
        read = await turn_of(api, "count", '{"to":3}')
    progress = [data["progress"] for data in of_type(read, "tool.progress")]
    assert progress == [{"count": 1}, {"count": 2}, {"count": 3}]
    assert said(read) == "Counted to 3."


async def turn_of(api: Api, tool: str, arguments: str) -> list[Json]:
    """All events of a turn with one call, live-only ones included."""
    session_id = await api.create(tool)
    async with api.follow(session_id) as frames:
        await api.send(session_id, f"/call {tool} {arguments}")
        return [frame.data for frame in await read_until(frames, "turn.completed")]
