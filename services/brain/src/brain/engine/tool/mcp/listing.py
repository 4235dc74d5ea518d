"""All tools of an MCP server, page by page, whatever it sends. Above: `brain mcp discover`.

Below: `session`. Each tool is read by itself, so that one that is wrong costs none of the others.
"""

import asyncio
from collections.abc import Mapping

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from brain.engine.tool.http_call import HttpClient
from brain.engine.tool.limits import Limits
from brain.engine.tool.mcp.exchange import Answer, Exchange
from brain.engine.tool.mcp.messages import RpcError
from brain.engine.tool.mcp.session import McpSession
from brain.engine.tool.outcome import SENTENCES, Code, Failure

MAX_TOOLS = 1000
_MAX_PAGES = 200
_PAGE_BYTES = 4 * 1024 * 1024
_ALL_BYTES = 16 * 1024 * 1024
_SECONDS = 60.0


class Listing(Struct, frozen=True):
    """The tools as the server sent them, each the JSON of an object or of something else.

    `unfinished` is a sentence that says why there may be more.
    """

    tools: tuple[Raw, ...]
    unfinished: str | None


class _Page(Struct, frozen=True):
    tools: tuple[Raw, ...]
    next_cursor: str | UnsetType | None = msgspec.field(default=UNSET, name="nextCursor")


async def list_tools(url: str, token: str | None, env: Mapping[str, str]) -> Listing | str:
    """What the server at a URL offers, or a sentence on why that can't be found out.

    Raises: ValueError, if `env` names a proxy that can't be used.
    """
    limits = Limits()
    http = HttpClient(env, limits)
    session = McpSession(http, url, token, limits)
    try:
        async with asyncio.timeout(_SECONDS):
            failure = await session.opened()
            return _said(failure) if failure is not None else await _pages(session)
    except TimeoutError:
        return f"The server took longer than {_SECONDS:.0f} seconds."
    finally:
        await session.closed()
        http.close()


async def _pages(session: McpSession) -> Listing | str:
    tools: list[Raw] = []
    cursor: str | None = None
    left = _ALL_BYTES
    for _ in range(_MAX_PAGES):
        exchange = Exchange(left=min(left, _PAGE_BYTES), limit=_PAGE_BYTES)
        answer = await session.list_tools(cursor, exchange)
        page = _page(answer)
        if isinstance(page, str):
            return Listing(tuple(tools), page) if tools else page
        tools += page.tools
        left -= len(answer) if isinstance(answer, bytes) else 0
        if not page.next_cursor:
            return Listing(tuple(tools), None)
        if len(tools) > MAX_TOOLS or left <= 0 or page.next_cursor == cursor:
            break
        cursor = page.next_cursor
    return Listing(tuple(tools[:MAX_TOOLS]), "Its list has no end in sight: the rest isn't read.")


def _page(answer: Answer) -> _Page | str:
    if isinstance(answer, RpcError):
        return f"The server answered with the error {answer.code}: {answer.message[:300]}"
    if isinstance(answer, Failure):
        return _said(answer)
    try:
        return msgspec.json.decode(answer, type=_Page)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return "The server's list of tools is not valid."


def _said(failure: Failure) -> str:
    sentence = _SENTENCES.get(failure.code) or SENTENCES[failure.code]
    return " ".join(filter(None, (sentence.replace("The tool", "The server"), failure.detail)))


_SENTENCES = {
    Code.MCP_NO_SESSION: "The server did not answer as an MCP server does: is this its endpoint?",
}
