"""What a session can refuse, as values. Above: `servicer`, which turns them into gRPC errors."""

from typing import Literal

from msgspec import Struct


class Violation(Struct, frozen=True):
    """One thing that is wrong with a request; `pointer` is a JSON pointer into its body."""

    pointer: str
    detail: str


class Refused(Struct, frozen=True):
    """Why something wasn't done. `message` is fit for a user."""

    kind: Literal["not_found", "conflict", "invalid"]
    code: str
    message: str
    violations: tuple[Violation, ...] = ()


def no_session() -> Refused:
    """The same for a session that isn't there and for another tenant's."""
    return Refused("not_found", "session_not_found", "There is no such session.")


def session_closed() -> Refused:
    """A closed session takes nothing new."""
    return Refused("conflict", "session_closed", "The session is closed and takes no messages.")


def turn_running() -> Refused:
    """For messages sent with `delivery: reject`."""
    return Refused(
        "conflict", "turn_running", "A turn is running, and the message asked for `reject`."
    )


def no_queued_message() -> Refused:
    """It was delivered already, withdrawn, or never there."""
    return Refused("not_found", "message_not_queued", "No message with this id is waiting.")
