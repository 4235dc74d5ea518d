"""Ids: a prefix and a UUIDv7 in 26 characters of base32hex.

Base32hex keeps the order of the bytes, so ids of one kind sort by the time they were made,
and engines that know nothing of each other never make the same one.
"""

import base64
import secrets

import uuid_utils

_ENCODED_LENGTH = 26


def session_id() -> str:
    """A new session id, `ses_…`."""
    return "ses_" + _sortable()


def turn_id() -> str:
    """A new turn id, `turn_…`."""
    return "turn_" + _sortable()


def message_id() -> str:
    """A new message id, `msg_…`."""
    return "msg_" + _sortable()


def call_id() -> str:
    """A new tool call id, `call_…`: Brain's own, whatever the model called it."""
    return "call_" + _sortable()


def inspection_token() -> str:
    """A new inspection token: 256 random bits, nothing of it derived from time."""
    return "insp_" + secrets.token_urlsafe(32)


def _sortable() -> str:
    return base64.b32hexencode(uuid_utils.uuid7().bytes)[:_ENCODED_LENGTH].decode("ascii").lower()
