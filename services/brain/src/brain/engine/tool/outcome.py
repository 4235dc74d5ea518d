"""The outcome table: the one place where what went wrong becomes a result.

Above: `dispatch`, and whoever answers calls that were never sent. Below: `brain_core`.
Everything below `dispatch` says what went wrong as a `Failure`; only here is decided what the
model reads and whether the action may have happened. No sentence ever holds a URL, a token or
anything of a response that wasn't 2xx.
"""

from enum import StrEnum

from msgspec import Struct

from brain_core.content import TextBlock, ToolResult


class Code(StrEnum):
    """Every way to fail. `docs/reference/outcomes.md` explains each to users."""

    REFUSED_NOT_ENABLED = "refused_not_enabled"
    REFUSED_UNAVAILABLE = "refused_unavailable"
    REFUSED_ARGUMENTS = "refused_arguments"
    REFUSED_CREDENTIAL = "refused_credential"
    ANSWER_CUT_OFF = "answer_cut_off"
    INTERRUPTED = "interrupted"
    CONNECTION_FAILED = "connection_failed"
    CONNECTION_LOST = "connection_lost"
    TIMEOUT_HEADERS = "timeout_headers"
    TIMEOUT_TOTAL = "timeout_total"
    HTTP_STATUS = "http_status"
    BAD_HTTP = "bad_http"
    WRONG_CONTENT_TYPE = "wrong_content_type"
    TOO_LARGE = "too_large"
    BAD_RESULT = "bad_result"
    BAD_EVENT = "bad_event"
    NO_RESULT = "no_result"
    MCP_NO_SESSION = "mcp_no_session"
    MCP_REFUSED = "mcp_refused"
    MCP_ERROR = "mcp_error"
    ENGINE_DIED = "engine_died"
    INTERNAL_ERROR = "internal_error"


SENTENCES = {
    Code.REFUSED_NOT_ENABLED: "This tool is not enabled in this session.",
    Code.REFUSED_UNAVAILABLE: "This tool is no longer available.",
    Code.REFUSED_ARGUMENTS: "The arguments are not valid.",
    Code.REFUSED_CREDENTIAL: "The server has no usable credential for this tool.",
    Code.ANSWER_CUT_OFF: "Your answer reached its length limit, so this call may be incomplete.",
    Code.INTERRUPTED: "The call was interrupted.",
    Code.CONNECTION_FAILED: "The tool could not be reached.",
    Code.CONNECTION_LOST: "The connection to the tool was lost before its result came.",
    Code.TIMEOUT_HEADERS: "The tool did not begin to answer in time.",
    Code.TIMEOUT_TOTAL: "The tool did not finish in time.",
    Code.HTTP_STATUS: "The tool answered with an HTTP error.",
    Code.BAD_HTTP: "The tool's answer is not valid HTTP.",
    Code.WRONG_CONTENT_TYPE: "The tool's answer has a content type that can't be read.",
    Code.TOO_LARGE: "The tool's answer is too large.",
    Code.BAD_RESULT: "The tool answered with an invalid result.",
    Code.BAD_EVENT: "The tool sent an invalid event.",
    Code.NO_RESULT: "The tool's event stream ended without a result.",
    Code.MCP_NO_SESSION: "No session could be opened with the MCP server.",
    Code.MCP_REFUSED: "The MCP server refused the call.",
    Code.MCP_ERROR: "The MCP server answered with an error.",
    Code.ENGINE_DIED: "The server stopped while the call was running.",
    Code.INTERNAL_ERROR: "The server failed while it handled the call.",
}
"""What a model reads first; a detail and one of the two endings follow."""

NOTHING_HAPPENED = "The tool was not called, so nothing happened."
MAY_HAVE_HAPPENED = (
    "The action may or may not have happened: check before you rely on it or call the tool again."
)

_NEVER_CALLED = frozenset(
    {
        Code.REFUSED_NOT_ENABLED,
        Code.REFUSED_UNAVAILABLE,
        Code.REFUSED_ARGUMENTS,
        Code.REFUSED_CREDENTIAL,
        Code.ANSWER_CUT_OFF,
        Code.MCP_NO_SESSION,
        Code.MCP_REFUSED,
    }
)


class Failure(Struct, frozen=True):
    """A call failed in this way. `detail` is a sentence for the model, or empty."""

    code: Code
    detail: str = ""


def result_of(failure: Failure, *, sent: bool) -> ToolResult:
    """The result that a failed call comes to. `sent`: anything may have reached the service."""
    unknown = sent and failure.code not in _NEVER_CALLED
    ending = MAY_HAVE_HAPPENED if unknown else NOTHING_HAPPENED
    sentences = (SENTENCES[failure.code], failure.detail, ending)
    return ToolResult(
        content=(TextBlock(" ".join(filter(None, sentences))),),
        is_error=True,
        unknown_outcome=unknown,
        code=failure.code.value,
    )


def interrupted(*, sent: bool) -> ToolResult:
    """The turn was interrupted, or the session closed."""
    return result_of(Failure(Code.INTERRUPTED), sent=sent)


def answer_cut_off() -> ToolResult:
    """The model's answer ended with `length`: none of its calls runs."""
    return result_of(Failure(Code.ANSWER_CUT_OFF, "Call the tool again if need be."), sent=False)


def engine_died() -> ToolResult:
    """The engine came back and found the call without a result."""
    return result_of(Failure(Code.ENGINE_DIED), sent=True)


def internal_error(*, sent: bool = True) -> ToolResult:
    """A bug in Brain."""
    return result_of(Failure(Code.INTERNAL_ERROR), sent=sent)
