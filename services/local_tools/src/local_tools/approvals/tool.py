"""The tool `request_approval`: asks an operator and waits. Above: `service`. Below: `desk`."""

from typing import Annotated

from msgspec import Meta

from local_tools.approvals.database import StoreUnavailable
from local_tools.approvals.desk import Desk
from local_tools.approvals.record import Approval, Question, canonical_sha256
from tool_service import Call, Result, ToolError, UnknownOutcome

TIMEOUT_SECONDS = 86_400
LONGEST_SECONDS = TIMEOUT_SECONDS - 300  # so that the answer is there before Brain gives up
DESCRIPTION = (
    "Ask a human operator to approve an action before you do it, and wait for the answer. "
    "Say in `action` what you want to do, in one line, and in `details` all that the operator "
    "needs to decide. Go on only if the operator answers yes."
)

Action = Annotated[
    str, Meta(min_length=1, max_length=200, description="What you want to do, in one line.")
]
Details = Annotated[
    str,
    Meta(max_length=20_000, description="What the operator needs to decide: plain text or JSON."),
]
Seconds = Annotated[
    int,
    Meta(ge=1, le=LONGEST_SECONDS, description="After this time without an answer it is a no."),
]


async def request_approval(
    action: Action, details: Details, call: Call, desk: Desk, expires_in_seconds: Seconds = 3600
) -> Result:
    """Wait until an operator answers. Raises: ToolError, UnknownOutcome."""
    question = Question(
        call_id=call.call_id,
        tenant_id=call.tenant_id,
        session_id=call.session_id,
        action=action,
        details=details,
        arguments_sha256=canonical_sha256(call.arguments),
    )
    try:
        with desk.asked(question, expires_in_seconds) as waiting:
            if waiting is None:
                raise UnknownOutcome("This request was made before; what came of it isn't known.")
            await call.progress({"status": "waiting_for_operator"})
            return _result(await waiting.ending())
    except StoreUnavailable as error:
        raise ToolError("The approval could not be recorded, which counts as no.") from error


def _result(approval: Approval) -> Result:
    if approval.status == "withdrawn":
        raise UnknownOutcome("The approval service stopped before an operator answered.")
    if approval.status == "expired":
        return Result(text="No operator answered in time, which counts as no.", is_error=True)
    text = f"Operator answered {approval.status}."
    if approval.comment is not None:
        text += f"\nComment: {approval.comment}"
    return Result(text=text, is_error=approval.status != "yes")
