"""What a failure means to whoever asked: nothing happened, or the outcome is unknown.

Above: `tools`. Below: `provider`. The model reads what is written here; what a provider said itself
is in the service's log only.
"""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

import structlog

from sandbox.inside import Refusal
from sandbox.provider import Gone, Lost, Reason, Refused
from tool_service import ToolError, UnknownOutcome

_log = structlog.get_logger(__name__)

SENTENCES: dict[Reason, str] = {
    "auth": "The provider of sandboxes doesn't accept this service's key. The operator has to "
    "mend that; trying again won't help.",
    "quota": "The account at the provider of sandboxes has used up what it may use. The operator "
    "has to mend that; trying again won't help.",
    "rate_limit": "The provider of sandboxes takes no more requests for the moment. Try again in "
    "a minute.",
    "capacity": "There is no room for another sandbox or process just now. Try again later.",
    "unreachable": "The provider of sandboxes can't be reached. Try again later.",
    "invalid": "The provider of sandboxes refuses the request as this service is configured. The "
    "operator has to mend that.",
}


@contextmanager
def told(doing: str, *, changes: bool = True) -> Generator[None]:
    """Turn a provider's failures into answers. `doing` names the action, for the sentences.

    Raises: ToolError, or UnknownOutcome if what `changes` something may have been done.
    """
    try:
        yield
    except Refused as refused:
        _log.warning("refused", reason=refused.reason, detail=refused.detail, doing=doing)
        raise ToolError(f"{SENTENCES[refused.reason]} Nothing was done.") from refused
    except Gone as gone:
        raise ToolError(
            "The sandbox ended, and a new one did, too, before anything was done. Try again later."
        ) from gone
    except Lost as lost:
        _log.warning("lost", detail=str(lost), doing=doing)
        if not changes:
            raise ToolError(
                f"The connection to the sandbox was lost while {doing}. Nothing was changed by it; "
                "try again."
            ) from lost
        raise UnknownOutcome(
            f"The connection to the sandbox was lost while {doing}. It may have been done: look "
            "before you repeat it."
        ) from lost
    except Refusal as refusal:
        raise ToolError(str(refusal)) from refusal
    except sqlite3.Error as error:
        _log.error("store", detail=str(error), doing=doing)
        raise ToolError(
            "The sandbox service can't write down what it does: its disk may be full. The operator "
            "has to mend that."
        ) from error
