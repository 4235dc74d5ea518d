"""W3C trace context: enough of it to hand a caller's trace on to a tool service."""

import re
import secrets

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


def valid_traceparent(value: str) -> bool:
    """Whether `value` is a `traceparent` that a receiver must accept."""
    match = _TRACEPARENT.fullmatch(value)
    if match is None:
        return False
    version, trace, span, _, rest = match.groups()
    if version == "ff" or (version == "00" and rest):
        return False
    return trace != "0" * 32 and span != "0" * 16


def child_traceparent(parent: str) -> str:
    """A `traceparent` for a new span of the same trace, with the parent's sampling flag."""
    _, trace, _, flags = parent.split("-")[:4]
    return f"00-{trace}-{secrets.token_hex(8)}-{flags}"
