"""The idempotency key of a request, as the wire has it. Above: `servicer`. Below: `session`."""

import hashlib
import re

from brain.engine.convert import Malformed
from brain.engine.session.answers import Attempt
from brainapi.session.v1 import session_service_pb2 as pb

_KEY = re.compile(r"[\x21-\x7e]{1,255}")

Keyed = (
    pb.CreateSessionRequest
    | pb.SendMessageRequest
    | pb.InterruptTurnRequest
    | pb.CompactSessionRequest
    | pb.CloseSessionRequest
)


def attempt_from_wire(request: Keyed) -> Attempt | None:
    """The attempt that this request is; None without a key. Raises: Malformed."""
    key = request.idempotency_key
    if not key:
        return None
    if not _KEY.fullmatch(key):
        raise Malformed("An idempotency key must have 1 to 255 visible ASCII characters.")
    return Attempt(request.tenant_id, key, _fingerprint(request))


def replayed(attempt: Attempt | None) -> bool:
    """Whether it is answered as an earlier one was."""
    return attempt is not None and attempt.replayed


def _fingerprint(request: Keyed) -> bytes:
    """A digest of what is asked for: the key itself is no part of it, nor is the caller's trace."""
    asked = type(request)()
    asked.MergeFrom(request)  # type: ignore[arg-type]
    asked.idempotency_key = ""
    if isinstance(asked, pb.SendMessageRequest):
        asked.traceparent = ""
    what = asked.SerializeToString(deterministic=True)
    return hashlib.sha256(type(request).__name__.encode() + b"\0" + what).digest()
