"""The ways in which a model call can fail, and how they are said. Above: `http_stream` and others.

Below: values only. A message is fit for a user: what a provider wrote is part of it, without keys,
addresses and the names of accounts.
"""

import re
from enum import StrEnum

from brain.engine.model.protocol import Failure
from brain_core.usage import Usage

_LONGEST_TEXT = 300
_KEY_LIKE = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|key|AIza)[-_][\w*.-]{6,}|\bAIza[\w-]{10,}|\w*\*\*+\w*", re.ASCII
)
_BEARER = re.compile(r"\bbearer\s+\S+", re.IGNORECASE)
_ACCOUNT = re.compile(r"\b(?:org|proj|acct)[-_]\w{6,}", re.ASCII)
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s\"'<>()\[\]]+", re.IGNORECASE)
_ADDRESS = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b", re.ASCII)


class Code(StrEnum):
    """Every way in which a model call can fail."""

    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    PROVIDER_ERROR = "provider_error"
    QUOTA_EXCEEDED = "quota_exceeded"
    AUTH_FAILED = "auth_failed"
    CONTEXT_OVERFLOW = "context_overflow"
    BAD_REQUEST = "bad_request"
    MODEL_NOT_FOUND = "model_not_found"
    CONTENT_REFUSED = "content_refused"
    IDLE_TIMEOUT = "idle_timeout"
    CONNECTION_FAILED = "connection_failed"
    CONNECTION_LOST = "connection_lost"
    BAD_STREAM = "bad_stream"


TRANSIENT = frozenset(
    {
        Code.RATE_LIMITED,
        Code.OVERLOADED,
        Code.PROVIDER_ERROR,
        Code.IDLE_TIMEOUT,
        Code.CONNECTION_FAILED,
        Code.CONNECTION_LOST,
    }
)
"""What may pass by itself."""

_SENTENCES = {
    Code.RATE_LIMITED: "The model's provider limits how often it may be asked.",
    Code.OVERLOADED: "The model's provider is overloaded.",
    Code.PROVIDER_ERROR: "The model's provider had an error.",
    Code.QUOTA_EXCEEDED: "The account at the model's provider has no credit or quota left.",
    Code.AUTH_FAILED: "The model's provider refused the API key, or what it may do.",
    Code.CONTEXT_OVERFLOW: "The conversation is longer than the model can read.",
    Code.BAD_REQUEST: "The model's provider refused the request.",
    Code.MODEL_NOT_FOUND: "The model's provider doesn't offer this model to this key.",
    Code.CONTENT_REFUSED: "The model's provider refused this content.",
    Code.IDLE_TIMEOUT: "The model's provider was silent for too long.",
    Code.CONNECTION_FAILED: "The model's provider could not be reached.",
    Code.CONNECTION_LOST: "The connection to the model's provider broke off.",
    Code.BAD_STREAM: "The model's provider sent something that isn't an answer in this format.",
}


class Secrets:
    """What must not be in any message: keys, headers' values, addresses, and whatever looks so."""

    def __init__(self, *values: str | None) -> None:
        self._values = tuple(value for value in values if value and len(value) >= 8)

    def without(self, text: str) -> str:
        """The text with each secret replaced."""
        for value in self._values:
            text = text.replace(value, "[secret]")
        for pattern in (_KEY_LIKE, _BEARER):
            text = pattern.sub("[secret]", text)
        text = _ACCOUNT.sub("[account]", text)
        return _ADDRESS.sub("[address]", _URL.sub("[address]", text))


NO_SECRETS = Secrets()


def failure(
    code: Code,
    detail: str = "",
    *,
    said: str = "",
    secrets: Secrets = NO_SECRETS,
    retry_after: float | None = None,
) -> Failure:
    """A failure: the code's sentence, one more of ours, and what the provider said of it."""
    said = _shortened(secrets.without(said))
    sentences = (_SENTENCES[code], detail, f"It said: {said}" if said else "")
    message = " ".join(sentence for sentence in sentences if sentence)
    return Failure(code.value, message, code in TRANSIENT, Usage(), retry_after)


def _shortened(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST_TEXT else words[: _LONGEST_TEXT - 1] + "…"
