"""One call, as Brain sends it and as a tool may see it. Above: `tool`, `answer`. Below: msgspec."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

Json = dict[str, Any]


class Envelope(Struct, frozen=True):
    """The body of Brain's request. What a later Brain adds is passed over."""

    tenant_id: str
    session_id: str
    call_id: str
    arguments: Json
    inspection_token: str | None = None
    brain_url: str | None = None


class Call:
    """What a tool knows of the call it answers: ask for it by a parameter of this type.

    `tenant_id` and `session_id` are the authenticated session's: decide by these what the call may
    reach, never by ids in the arguments. `arguments` are the arguments as they came. The inspection
    token reads the session's events until the call returns; it is never logged. `traceparent` is
    the trace that the call belongs to, to be passed on with the tool's own requests.
    """

    def __init__(
        self,
        envelope: Envelope,
        send: Callable[[bytes], Awaitable[None]],
        traceparent: str | None = None,
    ) -> None:
        self.tenant_id = envelope.tenant_id
        self.session_id = envelope.session_id
        self.call_id = envelope.call_id
        self.arguments: Mapping[str, Any] = envelope.arguments
        self.inspection_token = envelope.inspection_token
        self.brain_url = envelope.brain_url
        self.traceparent = traceparent
        self._send = send

    async def progress(self, payload: Any) -> None:
        """Tell whoever follows the session how it goes: any JSON value.

        Waits while the client is slow to read. Raises: TypeError if the value has no JSON.
        """
        await self._send(msgspec.json.encode(payload))


class BadCall(Exception):
    """The request isn't a tool call; its text says why."""


_decode = msgspec.json.Decoder(Envelope).decode


def read_call(body: bytes) -> Envelope:
    """The call in a request's body. Raises: BadCall."""
    try:
        return _decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadCall(f"The body isn't a tool call: {error}.") from error
