"""Calls tools of MCP servers, and keeps the sessions with them. Above: `dispatch`.

Below: `session`. Each Brain session has its own with each server, so that no server can take one
for another; it is opened when it is first needed, and closed when nobody has needed it for a while.
"""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager

import msgspec
from mcp.shared.inbound import find_invalid_x_mcp_header, mcp_param_headers, x_mcp_header_map
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Raw, Struct

from brain.engine.tool.http_call import HttpClient
from brain.engine.tool.limits import Limits
from brain.engine.tool.mcp.exchange import Answer, Exchange
from brain.engine.tool.mcp.messages import RpcError
from brain.engine.tool.mcp.post import McpPost
from brain.engine.tool.mcp.session import McpSession
from brain.engine.tool.outcome import Code, Failure

_REFUSALS = frozenset({-32601, -32602})
"""Method not found, invalid params: the tool isn't known, or never began."""

_SAID_CHARACTERS = 300


class _Key(Struct, frozen=True):
    tenant_id: str
    session_id: str
    url: str
    token: str | None


class McpClient:
    """The MCP sessions of one engine. Use it in one event loop."""

    def __init__(self, http: HttpClient, limits: Limits) -> None:
        self._http = http
        self._limits = limits
        self._sessions: dict[_Key, McpSession] = {}
        self._ending: set[asyncio.Task[None]] = set()

    async def call(
        self,
        post: McpPost,
        on_sent: Callable[[], None],
        on_headers: Callable[[], None],
        on_progress: Callable[[Raw], None],
    ) -> bytes | Failure:
        """Call a tool; the JSON of its result. `on_sent` comes before the first byte of the call.

        Cancel it to tell the server, and then to drop the connection.
        """
        binding, call = post.binding, post.call
        assert binding.mcp_tool is not None
        key = _Key(call.tenant_id, call.session_id, binding.url, binding.token)
        with self._session(key) as session:
            failure = await session.opened()
            if failure is not None:
                return failure
            exchange = Exchange(
                left=binding.max_output_bytes,
                limit=binding.max_output_bytes,
                arguments=post.arguments,
                headers=_headers(post, session.protocol_version),
                on_sent=on_sent,
                on_headers=on_headers,
                on_progress=lambda progress: on_progress(progress.payload()),
            )
            meta = {} if post.traceparent is None else {"traceparent": post.traceparent}
            return _outcome(await session.call(binding.mcp_tool, meta, exchange))

    def forget(self, session_id: str) -> None:
        """A Brain session has ended: so do its sessions with servers."""
        for key in [key for key in self._sessions if key.session_id == session_id]:
            self._end(self._sessions.pop(key))

    async def aclose(self) -> None:
        """Close all sessions. Calls that still run come to an end."""
        for session in self._sessions.values():
            self._end(session)
        self._sessions.clear()
        if self._ending:
            await asyncio.wait(self._ending)

    @contextmanager
    def _session(self, key: _Key) -> Generator[McpSession]:
        """The session for this key; it isn't closed while the block runs, unless it is broken."""
        session = self._sessions.pop(key, None)
        if session is not None and not session.usable:
            self._retire(session)
            session = None
        if session is None:
            self._make_room()
            session = McpSession(self._http, key.url, key.token, self._limits)
        self._sessions[key] = session  # the last one is the one used last
        session.used += 1
        _stay(session)
        try:
            yield session
        finally:
            session.used -= 1
            self._after_use(key, session)

    def _after_use(self, key: _Key, session: McpSession) -> None:
        if self._sessions.get(key) is not session or not session.usable:
            if self._sessions.get(key) is session:
                del self._sessions[key]
            self._retire(session)
        elif session.used == 0:
            idle = self._limits.mcp_idle_seconds
            _stay(session)
            session.expiry = asyncio.get_running_loop().call_later(idle, self._expire, key)

    def _expire(self, key: _Key) -> None:
        self._end(self._sessions.pop(key))

    def _retire(self, session: McpSession) -> None:
        """A broken session ends when its last call has."""
        if session.used == 0:
            self._end(session)

    def _make_room(self) -> None:
        """Before there are too many sessions, those end that nobody has used for the longest."""
        for key, session in list(self._sessions.items()):
            if len(self._sessions) < self._limits.mcp_sessions:
                return
            if session.used == 0:
                del self._sessions[key]
                self._end(session)

    def _end(self, session: McpSession) -> None:
        _stay(session)
        task = asyncio.create_task(session.closed())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def _outcome(answer: Answer) -> bytes | Failure:
    if not isinstance(answer, RpcError):
        return answer
    said = f"It says: {answer.message[:_SAID_CHARACTERS]}" if answer.message else ""
    code = Code.MCP_REFUSED if answer.code in _REFUSALS else Code.MCP_ERROR
    return Failure(code, said)


def _stay(session: McpSession) -> None:
    """It doesn't expire, since it is in use, or ends anyway."""
    if session.expiry is not None:
        session.expiry.cancel()
        session.expiry = None


def _headers(post: McpPost, version: str | None) -> dict[str, str]:
    """The trace, and the arguments that the newest protocol wants among the headers, too."""
    headers = {} if post.traceparent is None else {"traceparent": post.traceparent}
    schema = bytes(post.binding.input_schema)
    if version not in MODERN_PROTOCOL_VERSIONS or b"x-mcp-header" not in schema:
        return headers
    document = msgspec.json.decode(schema)
    if find_invalid_x_mcp_header(document) is not None:
        return headers
    arguments = msgspec.json.decode(post.arguments)
    return {**headers, **mcp_param_headers(x_mcp_header_map(document), arguments)}
