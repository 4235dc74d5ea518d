"""What a session can refuse, as values. Above: `servicer`, which turns them into gRPC errors."""

from typing import Literal

from msgspec import Struct

from brain_core.events import ErrorInfo


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


def not_idle() -> Refused:
    """A compaction needs the session for itself."""
    return Refused(
        "conflict", "turn_running", "A turn or a compaction is running; wait until it has ended."
    )


def nothing_to_compact() -> Refused:
    """All of the conversation is recent."""
    return Refused(
        "conflict", "nothing_to_compact", "The conversation is too short to be compacted."
    )


def compaction_failed(error: ErrorInfo) -> Refused:
    """No summary came about; the session is as it was."""
    return Refused("conflict", "compaction_failed", error.message)


def key_reused() -> Refused:
    """One key stands for one request."""
    return Refused(
        "conflict",
        "idempotency_key_reused",
        "This Idempotency-Key was used for another request; a new request needs a new key.",
    )


def session_deleted() -> Refused:
    """What a request made is there no more, and is not made a second time."""
    return Refused(
        "conflict",
        "session_deleted",
        "The session that was made with this Idempotency-Key was deleted.",
    )


def no_queued_message() -> Refused:
    """It was delivered already, withdrawn, or never there."""
    return Refused("not_found", "message_not_queued", "No message with this id is waiting.")


def wrong_content(violations: tuple[Violation, ...]) -> Refused:
    """A message that no model could be given."""
    return Refused("invalid", "invalid_message", "The message can't be taken.", violations)
