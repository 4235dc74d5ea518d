"""What the SDK gets for a response, in place of what the server sent. Above: `transport`.

Below: `reply`, `json_reply`.
"""

import asyncio
import re

import httpx2
from msgspec import Raw

from brain.engine.tool.http_response import HttpResponse, NotHttp
from brain.engine.tool.json_reply import read_json, too_large
from brain.engine.tool.mcp import messages
from brain.engine.tool.mcp.exchange import Exchange
from brain.engine.tool.mcp.reply import take_answer
from brain.engine.tool.outcome import Code, Failure

_ERROR_SECONDS = 1.0
_ERROR_BYTES = 64 * 1024
_SESSION_ID = re.compile(r"[!-~]{1,1024}")


def failed(exchange: Exchange, failure: Failure) -> httpx2.Response:
    """Note the failure; the SDK is told no more than that there is one."""
    exchange.settle(failure)
    return voided(exchange.request_id)


def voided(request_id: Raw) -> httpx2.Response:
    """An error that says nothing, to a request that is dealt with."""
    headers = {"content-type": "application/json"}
    return httpx2.Response(200, headers=headers, content=messages.void_error(request_id))


def session_id(response: HttpResponse) -> dict[str, str]:
    """The session's id, if it is one that can be sent back."""
    values = response.all("mcp-session-id")
    if len(values) == 1 and _SESSION_ID.fullmatch(values[0]):
        return {"mcp-session-id": values[0]}
    return {}


async def document(response: HttpResponse, exchange: Exchange) -> bytes | Failure:
    """What the SDK gets of an answer that is one JSON document."""
    if any(int(length) > exchange.left for length in response.all("content-length")):
        return too_large(exchange.limit)
    data = await read_json(response.read_body, exchange.left)
    if isinstance(data, Failure):
        return data
    answer = take_answer(exchange, data)
    return answer or Failure(Code.BAD_RESULT, "It answers another request.")


async def error_body(response: HttpResponse) -> bytes:
    """What a server says to an error, if it says it briefly and soon."""
    try:
        async with asyncio.timeout(_ERROR_SECONDS):
            data = await read_json(response.read_body, _ERROR_BYTES)
    except (NotHttp, OSError, TimeoutError):
        return b""
    return b"" if isinstance(data, Failure) else data
