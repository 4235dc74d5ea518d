"""What the exceptions of Modal's SDK tell. Above: `modal`. Below: `border`."""

from modal import exception

from sandbox.providers.border import Told

_KINDS: tuple[tuple[type[Exception], Told], ...] = (
    (exception.AuthError, "auth"),
    (exception.PermissionDeniedError, "auth"),
    (exception.NotFoundError, "gone"),
    (exception.SandboxTerminatedError, "gone"),
    (exception.SandboxTimeoutError, "gone"),
    (exception.InvalidError, "invalid"),
    (exception.UnimplementedError, "invalid"),
    (exception.VersionError, "invalid"),
    (exception.RemoteError, "invalid"),  # an image that can't be built
)
_USED_UP = ("limit", "quota", "billing", "spend")


def told(error: Exception) -> Told:
    """Not a server error or a broken stream: after these a request may have been carried out."""
    for kind, meaning in _KINDS:
        if isinstance(error, kind):
            return meaning
    text = str(error).lower()
    if isinstance(error, exception.ResourceExhaustedError):
        if "rate" in text:
            return "rate_limit"
        return "quota" if any(word in text for word in _USED_UP) else "capacity"
    if isinstance(error, exception.ConnectionError) and "could not connect" in text:
        return "unreachable"
    return None


def told_of_creating(error: Exception) -> Told:
    """Where there is no sandbox yet, what isn't found is what it should be made from."""
    meaning = told(error)
    return "invalid" if meaning == "gone" else meaning
