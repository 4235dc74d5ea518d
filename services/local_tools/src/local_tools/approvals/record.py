"""A request for approval, and an entry of the audit log. Pure values; the JSON is as they are.

Above: all of approvals. Times are RFC 3339 in UTC.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

Answer = Literal["yes", "no"]
Ending = Literal["yes", "no", "expired", "withdrawn"]
Status = Literal["pending", "yes", "no", "expired", "withdrawn"]


class Question(Struct, frozen=True, kw_only=True):
    """What an agent asks: who it is, and what it wants to do."""

    call_id: str
    tenant_id: str
    session_id: str
    action: str
    details: str
    arguments_sha256: str


class Approval(Struct, frozen=True, kw_only=True):
    """A question and what became of it. `decided_by` is an operator, if one decided."""

    call_id: str
    tenant_id: str
    session_id: str
    action: str
    details: str
    requested_at: str
    expires_at: str
    status: Status
    decided_at: str | None = None
    decided_by: str | None = None
    comment: str | None = None
    arguments_sha256: str


class Entry(Struct, frozen=True, kw_only=True):
    """One line of the audit log: how a request ended. There is one for each that has ended."""

    entry: int
    at: str
    answer: Ending
    operator: str | None
    comment: str | None
    tenant_id: str
    session_id: str
    call_id: str
    action: str
    arguments_sha256: str


def canonical_sha256(arguments: Mapping[str, Any]) -> str:
    """The SHA-256 of the arguments in the one way to write them, in hex.

    Keys sorted, no spaces, UTF-8: for arguments of strings and integers that is RFC 8785, so that
    the service that acts on the answer can hold it against the arguments of its own call.
    """
    written = json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(written.encode()).hexdigest()
