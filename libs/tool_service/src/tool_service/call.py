"""One call, as Brain sends it and as a tool may see it. Above: `tool`, `app`. Below: msgspec."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from msgspec import Struct


class Envelope(Struct, frozen=True):
    """The body of Brain's request. What a later Brain adds is passed over."""

    tenant_id: str
    session_id: str
    call_id: str
    arguments: dict[str, Any]
    inspection_token: str | None = None
    brain_url: str | None = None


class Call:
    """What a tool knows of the call it answers: ask for it by a parameter of this type.

    `tenant_id` and `session_id` are the authenticated session's: decide by these what the call may
    reach, never by ids in the arguments. The inspection token reads the session's events until the
    call returns; it is never logged.
    """

    def __init__(self, envelope: Envelope, send: Callable[[Any], Awaitable[None]]) -> None:
        self.tenant_id = envelope.tenant_id
        self.session_id = envelope.session_id
        self.call_id = envelope.call_id
        self.inspection_token = envelope.inspection_token
        self.brain_url = envelope.brain_url
        self._send = send

    async def progress(self, payload: Any) -> None:
        """Tell whoever follows the session how it goes: any JSON value."""
        await self._send(payload)


class BadCall(Exception):
    """The request isn't a tool call; its text says why."""


_decode = msgspec.json.Decoder(Envelope).decode


def read_call(body: bytes) -> Envelope:
    """The call in a request's body. Raises: BadCall."""
    try:
        return _decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadCall(f"The body isn't a tool call: {error}.") from error
