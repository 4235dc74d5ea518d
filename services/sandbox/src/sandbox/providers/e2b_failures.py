"""What the exceptions of E2B's SDK tell. Above: `e2b`. Below: `border`."""

import httpx
from e2b import (
    AuthenticationException,
    InvalidArgumentException,
    RateLimitException,
    SandboxNotFoundException,
    SandboxNotRunningException,
    SandboxUnreachableException,
    ServiceBusyException,
    TemplateException,
)

from sandbox.providers.border import Told, causes

_BY_STATUS: dict[int, Told] = {
    **dict.fromkeys((400, 404, 405, 409, 413, 422), "invalid"),
    402: "quota",
    403: "auth",
}
_KINDS: tuple[tuple[type[Exception], Told], ...] = (
    (SandboxNotFoundException, "gone"),
    (AuthenticationException, "auth"),
    (ServiceBusyException, "capacity"),
    (InvalidArgumentException, "invalid"),
    (TemplateException, "invalid"),
)


def told(error: Exception) -> Told:
    """Not a timeout, a reset or a server error: after these a request may have been carried out."""
    if _never_sent(error):
        return "gone" if isinstance(error, SandboxNotRunningException) else "unreachable"
    for kind, meaning in _KINDS:
        if isinstance(error, kind):
            return meaning
    text = str(error)
    if isinstance(error, RateLimitException):
        return "quota" if "maximum number" in text else "rate_limit"
    if isinstance(error, SandboxUnreachableException):
        # The edge's own answer: the request didn't get to the sandbox.
        return "unreachable" if "port is not open" in text else None
    if isinstance(error, SandboxNotRunningException):
        # With a cause, the request was under way and the SDK asked afterwards what had happened.
        return "gone" if error.__cause__ is None else None
    return _BY_STATUS.get(getattr(error, "status_code", None) or 0)


def _never_sent(error: Exception) -> bool:
    """The transport raises these only before a request was written."""
    connecting = (ConnectionError, httpx.ConnectError, httpx.ConnectTimeout)
    return any(isinstance(each, connecting) for each in causes(error))
