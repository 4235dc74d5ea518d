"""Inspection tokens: a tool service may read its session while its call runs.

Above: `dispatch` issues them, the servicer resolves them. They live in memory only, so that none
survives a restart.
"""

import hashlib
from collections.abc import Generator
from contextlib import contextmanager

from brain_core import ids


class Inspections:
    """The tokens of the calls that run now."""

    def __init__(self) -> None:
        # By digest, so that how long a look-up takes says nothing about any token.
        self._sessions: dict[bytes, tuple[str, str]] = {}

    @contextmanager
    def issued(self, tenant_id: str, session_id: str) -> Generator[str]:
        """A token for one call: it is revoked when the block ends."""
        token = ids.inspection_token()
        digest = _digest(token)
        self._sessions[digest] = (tenant_id, session_id)
        try:
            yield token
        finally:
            del self._sessions[digest]

    def resolve(self, token: str) -> tuple[str, str] | None:
        """The tenant and the session that the token reads, or None."""
        return self._sessions.get(_digest(token))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()
