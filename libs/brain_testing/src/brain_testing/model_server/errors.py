"""Errors as the providers report them. Above: `server`, the wire formats."""

from brain_testing.model_server.strict import Dialect, Json

_OPENAI: dict[int, tuple[str, str | None]] = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
    503: ("server_error", "server_is_overloaded"),
}
_ANTHROPIC = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def error_body(dialect: Dialect, status: int, message: str) -> Json:
    """The body of an error, in the provider's own shape."""
    if dialect == "anthropic-messages":
        kind = _ANTHROPIC.get(status, "api_error")
        return {
            "type": "error",
            "error": {"type": kind, "message": message},
            "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy",
        }
    kind, code = openai_words(status)
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def openai_words(status: int) -> tuple[str, str | None]:
    """The `type` and the `code` of an error of OpenAI's."""
    return _OPENAI.get(status, ("server_error", None))


def no_key(dialect: Dialect, given: str | None) -> str:
    """What is said about a key that is missing or wrong."""
    if dialect == "anthropic-messages":
        return "x-api-key header is required" if given is None else "invalid x-api-key"
    if given is None:
        return (
            "You didn't provide an API key. You need to provide your API key in an Authorization"
            " header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
        )
    return f"Incorrect API key provided: {given[:3]}***{given[-4:]}."
