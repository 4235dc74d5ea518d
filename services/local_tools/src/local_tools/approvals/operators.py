"""Who may answer: operators, each with a key of their own. Above: `guard`, `command`."""

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from tool_service import CannotServe

KEYS = "APPROVALS_KEYS"
KEY_FILE = "operator_key"
SHORTEST_KEY = 16
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._@-]{0,63}")


class Operator(Struct, frozen=True):
    """One key of an operator. Only its hash is kept."""

    name: str
    key_sha256: bytes


class Operators:
    """Those who may answer."""

    def __init__(self, operators: tuple[Operator, ...]) -> None:
        self._operators = operators

    def by_key(self, key: str) -> Operator | None:
        """Whose key it is. All are compared, in constant time."""
        given = digest(key)
        found: Operator | None = None
        for operator in self._operators:
            if hmac.compare_digest(given, operator.key_sha256):
                found = operator
        return found

    def has(self, name: str, key_sha256: bytes) -> bool:
        """Whether an operator still has this key."""
        return Operator(name, key_sha256) in self._operators


def digest(secret: str) -> bytes:
    """The SHA-256 of a secret."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()


def operators(env: Mapping[str, str], data: Path) -> Operators:
    """Those of `APPROVALS_KEYS`; without it one, named `operator`, whose key is in a file.

    Raises: CannotServe, without any key in its text.
    """
    listed = env.get(KEYS, "").strip()
    if not listed:
        return Operators((Operator("operator", digest(_key_in(data / KEY_FILE))),))
    pairs = [pair.strip() for pair in listed.split(",")]
    found = tuple(_parsed(pair, place) for place, pair in enumerate(pairs, 1) if pair)
    if len({operator.key_sha256 for operator in found}) < len(found):
        raise CannotServe(f"two entries of {KEYS} have the same key: give each a key of its own.")
    return Operators(found)


def _parsed(pair: str, place: int) -> Operator:
    name, equals, key = (part.strip() for part in pair.partition("="))
    if not equals or not _NAME.fullmatch(name):
        raise CannotServe(
            f"entry {place} of {KEYS} must be NAME=KEY, with a name of letters, digits, spaces and "
            "._@- that begins with a letter or a digit."
        )
    if not key.isascii() or not key.isprintable():
        raise CannotServe(f"the key of {name} in {KEYS} must be of ASCII characters.")
    if len(key) < SHORTEST_KEY:
        raise CannotServe(f"the key of {name} in {KEYS} is shorter than {SHORTEST_KEY} characters.")
    return Operator(name, digest(key))


def _key_in(file: Path) -> str:
    try:
        if not file.exists() or not file.read_text("ascii").strip():
            _write(file, secrets.token_urlsafe(24))
        return file.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CannotServe(f"the operator's key in {file} can't be used: {error}.") from error


def _write(file: Path, key: str) -> None:
    """Write it where only its owner can read it, whole or not at all."""
    beside = file.with_suffix(".new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:
        handle.write(key + "\n")
    beside.rename(file)
