"""JSON-RPC as it is on the wire: just enough to see which message is which. Above: `transport`,

`reply`. Below: msgspec. Results and arguments stay the bytes that they are.
"""

import msgspec
from mcp.types import jsonrpc_message_adapter
from msgspec import UNSET, Raw, Struct, UnsetType
from pydantic import ValidationError

_VOID: dict[str, object] = {
    "resultType": "complete",
    "content": [],
    "tools": [],
    "ttlMs": 0,
    "cacheScope": "private",
}


class RpcError(Struct, frozen=True):
    """What a peer answers in place of a result."""

    code: int
    message: str = ""


class Message(Struct, frozen=True):
    """A request, a notification or a response, whichever way it goes."""

    id: Raw | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: RpcError | UnsetType | None = UNSET

    @property
    def is_response(self) -> bool:
        """Whether it answers a request. Some servers write `"error": null` beside a result."""
        answers = isinstance(self.result, Raw) or isinstance(self.error, RpcError)
        return answers and self.method is UNSET

    @property
    def is_request(self) -> bool:
        """Whether it wants an answer."""
        return self.method is not UNSET and self.id is not UNSET


_decoder = msgspec.json.Decoder(Message)


def read(data: bytes) -> Message | None:
    """The message, or None if it is none."""
    try:
        return _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def fits_sdk(data: bytes) -> bool:
    """Whether the SDK can read it; where it can't, it gives up what it waits for."""
    try:
        jsonrpc_message_adapter.validate_json(data, by_name=False)
    except ValidationError:
        return False
    return True


def void_result(request_id: Raw) -> bytes:
    """An empty answer that every protocol version takes: the real one went another way."""
    return _encode({"jsonrpc": "2.0", "id": request_id, "result": _VOID})


def void_error(request_id: Raw) -> bytes:
    """An error as an answer: what is wrong with the real one was noted elsewhere."""
    return _encode({"jsonrpc": "2.0", "id": request_id, "error": {"code": -32603, "message": ""}})


def _encode(message: dict[str, object]) -> bytes:
    return msgspec.json.encode(message)
