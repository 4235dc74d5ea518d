"""What goes out for one message of the SDK: the bytes of an HTTP request. Above: `transport`.

Below: `http_target`. Only the headers that the protocol knows are taken over from the SDK.
"""

from collections.abc import Mapping

import httpx2
import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from brain.engine.tool.http_connection import Connection
from brain.engine.tool.http_target import Target
from brain.engine.tool.mcp.exchange import MARK
from brain.engine.tool.mcp.messages import Message

_TAKEN_OVER = ("accept", "content-type", "last-event-id")
_TAKEN_OVER_PREFIX = "mcp-"

_Members = dict[str, Raw]


class _Meta(Struct, frozen=True):
    meta: _Members | UnsetType = msgspec.field(default=UNSET, name="_meta")


def mark_of(message: Message) -> str | None:
    """Which exchange a request of the SDK is, if it is one."""
    if not isinstance(message.params, Raw):
        return None
    meta = msgspec.json.decode(message.params, type=_Meta).meta
    mark = None if isinstance(meta, UnsetType) else meta.get(MARK)
    return None if mark is None else msgspec.json.decode(mark, type=str)


def body_of(message: Message, arguments: Raw | None) -> bytes:
    """The request without its mark, and with these arguments in place of the SDK's."""
    assert isinstance(message.params, Raw)
    params = msgspec.json.decode(message.params, type=_Members)
    meta = msgspec.json.decode(params["_meta"], type=_Members)
    del meta[MARK]
    params["_meta"] = Raw(msgspec.json.encode(meta))
    if arguments is not None:
        params["arguments"] = arguments
    rest = {"jsonrpc": "2.0", "id": message.id, "method": message.method}
    return msgspec.json.encode({**rest, "params": params})


def written(
    request: httpx2.Request,
    body: bytes,
    target: Target,
    connection: Connection,
    more: Mapping[str, str | None],
) -> bytes:
    """The request as it is sent; of `more` headers those that have a value."""
    proxy = connection.asks_proxy
    headers: dict[str, str | None] = {
        "Host": target.authority,
        "User-Agent": "brain",
        "Accept-Encoding": "identity",
        "Content-Length": str(len(body)) if request.method == "POST" else None,
        "Proxy-Authorization": proxy.authorization if proxy else None,
        **{name: value for name, value in request.headers.items() if _is_taken_over(name)},
        **more,
    }
    lines = [f"{request.method} {target.url if proxy else target.path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items() if value is not None]
    return "\r\n".join([*lines, "", ""]).encode("utf-8") + body


def _is_taken_over(name: str) -> bool:
    return name in _TAKEN_OVER or name.startswith(_TAKEN_OVER_PREFIX)
