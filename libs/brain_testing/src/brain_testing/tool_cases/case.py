"""One case: what a service does, and what the event, the model and the service then see."""

from dataclasses import dataclass, field
from typing import Any

from brain_testing.raw_script import Script


@dataclass(frozen=True)
class Expect:
    """What must come of a call.

    `content` is the content blocks as JSON values; for a failure, `says` must be in the sentence.
    `structured` is the exact compact JSON of the structured content, None if there must be none.
    `arguments` is the exact JSON that the service must have received, `sent` how often.
    """

    is_error: bool = False
    unknown_outcome: bool = False
    code: str | None = None
    content: list[dict[str, Any]] | None = None
    says: str = ""
    structured: str | None = None
    progress: tuple[str, ...] = ()
    sent: int = 1
    arguments: str | None = None


@dataclass(frozen=True)
class Case:
    """`name` is a sentence; `binding` are the fields in which the tool's binding is special."""

    name: str
    script: Script
    expect: Expect
    arguments: str = "{}"
    binding: dict[str, Any] = field(default_factory=dict[str, Any])
    proves: tuple[str, ...] = ()


def text(words: str) -> list[dict[str, Any]]:
    """The content of one text block."""
    return [{"type": "text", "text": words}]


def gives(content: list[dict[str, Any]], **fields: Any) -> Expect:
    """The tool's own result, kept as it was sent."""
    return Expect(content=content, **fields)


def fails(code: str, says: str = "", **fields: Any) -> Expect:
    """The call failed after something may have been sent: nobody knows what happened."""
    return Expect(is_error=True, unknown_outcome=True, code=code, says=says, **fields)


def refused(says: str = "", code: str = "refused_arguments") -> Expect:
    """Brain refused the call: nothing was sent, so nothing happened."""
    return Expect(is_error=True, code=code, says=says, sent=0)
