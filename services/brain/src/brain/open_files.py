"""How many files and connections this process may have open. Above: the command line."""

import resource
from contextlib import suppress


def raise_limit() -> None:
    """Allow as many as the system does: by default it starts a process with 1,024.

    Each client that follows a session is one; so is each tool call that is in flight.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # some systems allow less than they say
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
