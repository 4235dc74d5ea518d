"""An MCP server that does exactly what its scripts say, on raw HTTP. Above: tests of MCP tools.

Below: `tool_server`, `raw_script`. It opens sessions as a server of 2025 does, and plays a script
for each method; a script is made from the request, whose id an answer must name.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from brain_testing.raw_request import RawRequest
from brain_testing.raw_script import Choose, Read, Script, Send, Step, chunks, head, response
from brain_testing.tool_server import ToolServer

Json = dict[str, Any]
Play = Callable[[RawRequest], Script]

VERSION = "2025-11-25"
SESSION = "session-of-the-server"
ACCEPTED: Script = (Send(response(b"", content_type=None, status="202 Accepted")),)


class McpServer(ToolServer):
    """`async with McpServer(result("hi")) as server:`; `call` is what `tools/call` plays."""

    def __init__(self, call: Play, **methods: Play) -> None:
        """Methods are named with `_` for `/`; `GET` and `DELETE` by their HTTP method."""
        super().__init__(Read(), Choose(self._chosen))
        self._plays: dict[str, Play] = {
            "server_discover": error(-32601, "Method not found"),
            "initialize": initialized,
            "tools_call": call,
            "GET": lambda _: (Send(response(b"", status="405 Method Not Allowed")),),
            "DELETE": lambda _: (Send(response(b"")),),
            **methods,
        }

    def answers(self, method: str, play: Play) -> None:
        """From now on this method plays this."""
        self._plays[method] = play

    def asked(self, method: str) -> list[Json]:
        """What the requests and notifications of a method said."""
        bodies = [request.json for request in self.requests if request.body]
        return [body for body in bodies if body.get("method") == method]

    @property
    def calls(self) -> list[RawRequest]:
        """The requests that call a tool."""
        return [each for each in self.requests if b'"tools/call"' in each.body]

    def asked_by(self, http_method: str) -> list[RawRequest]:
        """The requests with this HTTP method."""
        return [each for each in self.requests if each.line.startswith(http_method + " ")]

    def _chosen(self, request: RawRequest) -> Script:
        if not request.body:
            return self._plays[request.line.split(" ")[0]](request)
        method = request.json.get("method", "answer").replace("/", "_")
        if method in self._plays:
            return self._plays[method](request)
        return ACCEPTED


def answer(request: RawRequest, **members: Any) -> Json:
    """A JSON-RPC answer to a request: `answer(request, result={...})`."""
    return {"jsonrpc": "2.0", "id": request.json["id"], **members}


def result(*blocks: str | Json, **members: Any) -> Play:
    """Answer with a result of these blocks, in one JSON document."""
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    return lambda request: (
        Send(response(answer(request, result={"content": content, **members}))),
    )


def error(code: int, message: str, status: str = "200 OK") -> Play:
    """Answer with a JSON-RPC error."""
    return lambda request: (
        Send(response(answer(request, error={"code": code, "message": message}), status=status)),
    )


def plays(*steps: Step) -> Play:
    """Take these steps, whatever the request says."""
    return lambda _: steps


def stream(*messages: Json | bytes, last: bool = True) -> Play:
    """Answer with a stream of messages, then with the result `done` if it is the `last` word."""

    def play(request: RawRequest) -> Script:
        done = answer(request, result={"content": [{"type": "text", "text": "done"}]})
        all_ = [*messages, done] if last else messages
        pieces = [each if isinstance(each, bytes) else sse(each) for each in all_]
        return (
            Send(head("text/event-stream", "Transfer-Encoding: chunked")),
            Send(chunks(*pieces)),
        )

    return play


def sse(message: Json | None, *lines: str) -> bytes:
    """A server-sent event with a message as its data, and other lines before that."""
    data = "" if message is None else json.dumps(message)
    return "\n".join([*lines, f"data: {data}", "", ""]).encode()


def notification(method: str, **params: Any) -> Json:
    """A notification's message."""
    return {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}


def pages(*listed: Sequence[Any]) -> Play:
    """`tools/list`, page by page; the cursor is the number of the next page."""

    def play(request: RawRequest) -> Script:
        params: Json = request.json.get("params") or {}
        number = int(params.get("cursor") or 0)
        found: Json = {"tools": listed[number]}
        if number + 1 < len(listed):
            found["nextCursor"] = str(number + 1)
        return (Send(response(answer(request, result=found))),)

    return play


def tool(name: str, **members: Any) -> Json:
    """A tool as a server lists it."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return {"name": name, "description": f"It is {name}.", "inputSchema": schema, **members}


def initialized(request: RawRequest) -> Script:
    """What `initialize` plays unless it is told otherwise."""
    found: Json = {
        "protocolVersion": VERSION,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "scripted", "version": "1"},
    }
    body = answer(request, result=found)
    return (Send(response(body, f"Mcp-Session-Id: {SESSION}")),)
