"""What a provider's error means. Above: `http_stream`, `http_model`. Below: values only.

Providers say the same thing in many ways: by status, by a word in the error object, or only in a
sentence. Here all of them become one of a few stable codes and a message that is fit for a user.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec
from msgspec import Struct

from brain.engine.model.protocol import Failure
from brain_core.usage import Usage

_LONGEST_TEXT = 300
_KEY_LIKE = re.compile(r"\b(?:sk|pk|rk|gsk|xai|key|AIza)[-_][\w*.-]{6,}|\bAIza[\w-]{10,}", re.ASCII)
_BEARER = re.compile(r"\bbearer\s+\S+", re.IGNORECASE)


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

_WORDS = {
    "rate_limit_exceeded": Code.RATE_LIMITED,
    "rate_limit_error": Code.RATE_LIMITED,
    "resource_exhausted": Code.RATE_LIMITED,
    "overloaded_error": Code.OVERLOADED,
    "server_is_overloaded": Code.OVERLOADED,
    "slow_down": Code.OVERLOADED,
    "insufficient_system_resource": Code.OVERLOADED,
    "server_error": Code.PROVIDER_ERROR,
    "internal_server_error": Code.PROVIDER_ERROR,
    "timeout_error": Code.PROVIDER_ERROR,
    "insufficient_quota": Code.QUOTA_EXCEEDED,
    "billing_error": Code.QUOTA_EXCEEDED,
    "billing_not_active": Code.QUOTA_EXCEEDED,
    "billing_hard_limit_reached": Code.QUOTA_EXCEEDED,
    "insufficient_credits": Code.QUOTA_EXCEEDED,
    "invalid_api_key": Code.AUTH_FAILED,
    "authentication_error": Code.AUTH_FAILED,
    "permission_error": Code.AUTH_FAILED,
    "permission_denied": Code.AUTH_FAILED,
    "context_length_exceeded": Code.CONTEXT_OVERFLOW,
    "request_too_large": Code.CONTEXT_OVERFLOW,
    "model_not_found": Code.MODEL_NOT_FOUND,
    "content_filter": Code.CONTENT_REFUSED,
    "content_policy_violation": Code.CONTENT_REFUSED,
    "invalid_prompt": Code.CONTENT_REFUSED,
    "refusal": Code.CONTENT_REFUSED,
}
"""Words of error objects that say what happened by themselves."""

_VAGUE_WORDS = {
    "invalid_request_error": Code.BAD_REQUEST,
    "not_found_error": Code.MODEL_NOT_FOUND,
    "api_error": Code.PROVIDER_ERROR,
}
"""Words that count only where neither the text nor the status says more."""

_QUOTA = re.compile(
    r"credit balance|insufficient (?:balance|credits|funds)|out of credits|spend(?:ing)? limit"
    r"|billing hard limit|payment required",
    re.IGNORECASE,
)
_OVERFLOW = re.compile(
    r"context (?:length|window|size)|maximum (?:context|prompt) length|(?:prompt|input) (?:is )?too"
    r" long|too many (?:input )?tokens|token count.{0,40}exceeds|input token.{0,40}exceed"
    r"|reduce the length of the (?:messages|prompt|input)|model'?s maximum.{0,20}length",
    re.IGNORECASE,
)
_STATUSES = {
    401: Code.AUTH_FAILED,
    402: Code.QUOTA_EXCEEDED,
    403: Code.AUTH_FAILED,
    408: Code.PROVIDER_ERROR,
    409: Code.PROVIDER_ERROR,
    413: Code.CONTEXT_OVERFLOW,
    429: Code.RATE_LIMITED,
    503: Code.OVERLOADED,
    529: Code.OVERLOADED,
}


class ProviderError(Struct, frozen=True):
    """An error as a provider put it: the words of its object, its text, when to ask again."""

    words: tuple[str, ...] = ()
    text: str = ""
    retry_after: float | None = None


class Secrets:
    """What must not be in any message: the key, other headers' values, and whatever looks so."""

    def __init__(self, *values: str | None) -> None:
        self._values = tuple(value for value in values if value and len(value) >= 8)

    def without(self, text: str) -> str:
        """The text with each secret replaced."""
        for value in self._values:
            text = text.replace(value, "[secret]")
        return _BEARER.sub("[secret]", _KEY_LIKE.sub("[secret]", text))


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


def classify(error: ProviderError, status: int | None = None) -> Code:
    """What an error means. `status` is None for one that came inside a stream."""
    words = [word.lower() for word in error.words]
    if status is None:
        # A number in place of a word is the status that a relayed provider gave.
        status = next((int(word) for word in words if word.isdecimal()), None)
    return (
        _first(words, _WORDS)
        or _by_text(error.text, status)
        or _by_status(error.text, status)
        or _first(words, _VAGUE_WORDS)
        or (Code.BAD_REQUEST if 400 <= (status or 0) < 500 else Code.PROVIDER_ERROR)
    )


def _first(words: Iterable[str], codes: Mapping[str, Code]) -> Code | None:
    return next((codes[word] for word in words if word in codes), None)


def _by_text(text: str, status: int | None) -> Code | None:
    if _QUOTA.search(text):
        return Code.QUOTA_EXCEEDED
    # "Too many tokens" in a minute is another matter than too many in a request.
    overflows = status != 429 and _OVERFLOW.search(text)
    return Code.CONTEXT_OVERFLOW if overflows else None


def _by_status(text: str, status: int | None) -> Code | None:
    if status == 404:
        return Code.MODEL_NOT_FOUND if "model" in text.lower() else None
    return None if status is None else _STATUSES.get(status)


def read_error(body: bytes) -> ProviderError:
    """The error in a body or in a stream's data. What isn't JSON says nothing but its text."""
    try:
        document: object = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        text = body.decode(errors="replace")
        return ProviderError(text="" if "<" in text[:200] else text)
    first = next(iter(_items(document)), document)  # Google puts the error into a list
    return _from_object(first)


def _from_object(document: object) -> ProviderError:
    fields = _fields(document)
    inner = fields.get("error", fields)
    if isinstance(inner, str):
        return ProviderError(text=inner)
    error = _fields(inner)
    words = [error.get(name) for name in ("code", "type", "status")]
    text = error.get("message") or error.get("detail") or ""
    return ProviderError(
        words=tuple(str(word) for word in words if isinstance(word, str | int)),
        text=text if isinstance(text, str) else msgspec.json.encode(text).decode(),
        retry_after=_retry_delay(error.get("details")),
    )


def _retry_delay(details: object) -> float | None:
    """Google says it in the error object: `{"retryDelay": "34s"}`."""
    for detail in _items(details):
        delay = _fields(detail).get("retryDelay")
        match = re.fullmatch(r"(\d+(?:\.\d+)?)s", delay) if isinstance(delay, str) else None
        if match:
            return float(match[1])
    return None


def _fields(value: object) -> Mapping[str, object]:
    return msgspec.convert(value, dict[str, object]) if isinstance(value, dict) else {}


def _items(value: object) -> list[object]:
    return msgspec.convert(value, list[object]) if isinstance(value, list) else []


def _shortened(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST_TEXT else words[: _LONGEST_TEXT - 1] + "…"
