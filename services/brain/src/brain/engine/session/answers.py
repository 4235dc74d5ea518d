"""What commands to a session are answered, and the attempts whose answers are kept.

Above: `actor`, `journal`, `once`. Below: the log's `KeptAnswer`.
"""

from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from brain.engine.log.protocol import KeptAnswer
from brain_core.clock import rfc3339

KEPT = timedelta(hours=24)


class Accepted(Struct, frozen=True):
    """A message was accepted. `turn_id` is the turn that it started or may yet steer."""

    message_id: str
    seq: int
    turn_id: str | None
    queued: bool


class Interrupted(Struct, frozen=True):
    """No turn runs any more. `turn_id` is the one that was ended, None if there was none."""

    turn_id: str | None


class Compacted(Struct, frozen=True):
    """The context was compacted: about how many tokens it had, and has."""

    tokens_before: int
    tokens_after: int


class Attempt:
    """A request with an idempotency key, as it came this time.

    `replayed` is set if its answer is that of an earlier attempt.
    """

    def __init__(self, tenant_id: str, key: str, fingerprint: bytes) -> None:
        self.tenant_id = tenant_id
        self.key = key
        self.fingerprint = fingerprint
        self.replayed = False

    def kept(self, session_id: str, answer: Struct | None, now: datetime) -> KeptAnswer:
        """What the log keeps of it; no answer where the session itself is the answer."""
        return KeptAnswer(
            tenant_id=self.tenant_id,
            key=self.key,
            fingerprint=self.fingerprint,
            session_id=session_id,
            answer=b"" if answer is None else msgspec.json.encode(answer),
            kept_at=rfc3339(now),
            kept_until=rfc3339(now + KEPT),
        )


Answer = tuple[Attempt, Struct]
"""An attempt, and what it is answered."""
