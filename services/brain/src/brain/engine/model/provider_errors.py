"""What a provider's error means. Above: `dialect`, the readers, `http_refusal`, `http_model`.

Below: `failures`. Providers say the same thing in many ways: by status, by a word in the error
object, or only in a sentence.
"""

import re
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from brain.engine.model.failures import Code

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
    "function_call_filter": Code.PROVIDER_ERROR,
    "insufficient_quota": Code.QUOTA_EXCEEDED,
    "billing_error": Code.QUOTA_EXCEEDED,
    "billing_not_active": Code.QUOTA_EXCEEDED,
    "billing_hard_limit_reached": Code.QUOTA_EXCEEDED,
    "insufficient_credits": Code.QUOTA_EXCEEDED,
    "insufficient_balance": Code.QUOTA_EXCEEDED,
    "invalid_api_key": Code.AUTH_FAILED,
    "authentication_error": Code.AUTH_FAILED,
    "permission_error": Code.AUTH_FAILED,
    "permission_denied": Code.AUTH_FAILED,
    "context_length_exceeded": Code.CONTEXT_OVERFLOW,
    "request_too_large": Code.CONTEXT_OVERFLOW,
    "exceed_context_size_error": Code.CONTEXT_OVERFLOW,
    "model_not_found": Code.MODEL_NOT_FOUND,
    "content_filter": Code.CONTENT_REFUSED,
    "content_policy_violation": Code.CONTENT_REFUSED,
    "image_content_policy_violation": Code.CONTENT_REFUSED,
    "bio_policy": Code.CONTENT_REFUSED,
    "misalignment_policy_violation": Code.CONTENT_REFUSED,
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

_ABOUT_REQUEST = ("invalid_", "image_", "unsupported_", "empty_", "failed_to_download_")
"""How words begin that say what is wrong with a request; the status is seldom there beside them."""

_QUOTA = re.compile(
    r"credit balance|insufficient (?:balance|credits|funds)|out of credits|spend(?:ing)? limit"
    r"|billing hard limit|payment required",
    re.IGNORECASE,
)
_OVERFLOW = re.compile(
    r"context (?:length|window|size)|maximum (?:context|prompt) length"
    r"|exceeds? (?:the )?(?:context|maximum) (?:limit|length)|exceeded max context"
    r"|(?:prompt|input) (?:is )?too long|too many (?:input )?tokens|exceeded model token limit"
    r"|token count.{0,40}exceeds|input token.{0,40}exceed|tokens \+ `max_new_tokens` must be"
    r"|reduce the length of the (?:messages|prompt|input)|maximum model length",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"(?:incorrect|invalid) api key|api key not valid|invalid x-api-key", re.IGNORECASE
)
_NEVER_FITS = re.compile(r"request too large for", re.IGNORECASE)
"""Said as a rate limit, by those who let no single request be as large: waiting doesn't help."""

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


def classify(error: ProviderError, status: int | None = None) -> Code:
    """What an error means. `status` is None for one that came inside a stream."""
    words = [word.lower() for word in error.words]
    if status is None:
        # A number in place of a word is the status that a relayed provider gave.
        status = next((int(word) for word in words if word.isdecimal()), None)
    return (
        (Code.CONTEXT_OVERFLOW if _NEVER_FITS.search(error.text) else None)
        or _first(words, _WORDS)
        or _by_text(error.text, status)
        or _by_status(error.text, status)
        or _first(words, _VAGUE_WORDS)
        or (Code.BAD_REQUEST if _about_request(words, status) else Code.PROVIDER_ERROR)
    )


def _about_request(words: Iterable[str], status: int | None) -> bool:
    if status is not None:
        return 400 <= status < 500
    return any(word.startswith(_ABOUT_REQUEST) for word in words)


def _first(words: Iterable[str], codes: Mapping[str, Code]) -> Code | None:
    return next((codes[word] for word in words if word in codes), None)


def _by_text(text: str, status: int | None) -> Code | None:
    if _QUOTA.search(text):
        return Code.QUOTA_EXCEEDED
    if _KEY.search(text):
        return Code.AUTH_FAILED
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
