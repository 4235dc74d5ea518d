"""What the scripted server puts on thoughts, so that it can tell whether they come back unchanged.

A real provider signs or encrypts them with a key of its own. A seal here says what it belongs to,
so that `refusal` needs no memory: one that isn't of this kind came from a recorded stream, and is
taken as it is.
"""

import hashlib

_SIGNED = "c2lnbmVk"
_ENCRYPTED = "gAAAAAsealed"


def signature_of(thinking: str) -> str:
    """The signature of an Anthropic thinking block with this text."""
    return _SIGNED + _digest(thinking)


def encrypted_of(summary: str) -> str:
    """The encrypted content of a reasoning item with this summary."""
    return _ENCRYPTED + _digest(summary)


def is_broken(seal: str, text: str) -> bool:
    """Whether a seal of ours belongs to another text."""
    return seal.startswith((_SIGNED, _ENCRYPTED)) and not seal.endswith(_digest(text))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
