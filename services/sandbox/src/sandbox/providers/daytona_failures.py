"""What the exceptions of Daytona's SDK tell. Above: `daytona`. Below: `border`."""

import aiohttp
from daytona import DaytonaBadRequestError, DaytonaError

from sandbox.providers.border import Told, causes

_BY_STATUS: dict[int, Told] = {
    **dict.fromkeys((404, 410), "gone"),
    **dict.fromkeys((400, 409, 413, 422), "invalid"),
    401: "auth",
    402: "quota",
    403: "auth",
    429: "rate_limit",
}
_USED_UP = ("quota", "credit", "suspended", "limit exceeded")


def told(error: Exception) -> Told:
    """Not a timeout, a reset or a server error: after these a request may have been carried out."""
    if any(isinstance(each, aiohttp.ClientConnectorError) for each in causes(error)):
        return "unreachable"
    if not isinstance(error, DaytonaError):
        return None
    text, status = str(error).lower(), error.status_code
    if status in (400, 403) and any(word in text for word in _USED_UP):
        return "quota"
    if status == 400 and "no available runner" in text:
        return "capacity"
    if status is None and isinstance(error, DaytonaBadRequestError):
        return "invalid"  # by the SDK itself
    return _BY_STATUS.get(status or 0)


def told_of_creating(error: Exception) -> Told:
    """Where there is no sandbox yet, what isn't found is what it should be made from."""
    meaning = told(error)
    return "invalid" if meaning == "gone" else meaning
