"""What a tool answers, and its JSON. Above: `tool`, `answer`. Below: msgspec."""

import base64
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

Outcome = Literal["ok", "error", "unknown"]


class Image(Struct, frozen=True):
    """An image for the model; `mime_type` begins with `image/`."""

    data: bytes
    mime_type: str


class Result(Struct, frozen=True):
    """A tool's answer: text, images, structured content, or several of them.

    `structured` is any JSON value. `unknown_outcome` says that an action may have happened whose
    end isn't known.
    """

    text: str | None = None
    images: tuple[Image, ...] = ()
    structured: Any = UNSET
    is_error: bool = False
    unknown_outcome: bool = False

    @property
    def outcome(self) -> Outcome:
        """How the call went, in a word."""
        if self.unknown_outcome:
            return "unknown"
        return "error" if self.is_error else "ok"


class ToolError(Exception):
    """Raise it for a failure that the tool handled: the model reads the text. Nothing happened."""


class UnknownOutcome(Exception):
    """Raise it when an action may have happened whose end isn't known: the model reads the text."""


class _Wire(Struct, frozen=True, omit_defaults=True):
    content: list[dict[str, str]] | UnsetType = UNSET
    is_error: bool = False
    structured_content: Any = UNSET
    unknown_outcome: bool = False


def result_of(answer: object) -> Result:
    """What a tool function returned, as a result: a string is text, any other value structured."""
    if isinstance(answer, Result):
        return answer
    if isinstance(answer, str):
        return Result(text=answer)
    if isinstance(answer, Image):
        return Result(images=(answer,))
    return Result(structured=answer)


def encode(result: Result) -> bytes:
    """The result object of Brain's tool protocol, as JSON.

    Raises: TypeError or ValueError if the structured content has no JSON.
    """
    content = [{"type": "text", "text": result.text}] if result.text is not None else []
    content += [
        {
            "type": "image",
            "data": base64.b64encode(image.data).decode(),
            "mime_type": image.mime_type,
        }
        for image in result.images
    ]
    if not content and result.structured is UNSET:
        content = [{"type": "text", "text": ""}]  # the protocol wants one or the other
    return msgspec.json.encode(
        _Wire(
            content=content or UNSET,
            is_error=result.is_error,
            structured_content=result.structured,
            unknown_outcome=result.unknown_outcome,
        )
    )


def failure(text: str, *, unknown: bool = False) -> Result:
    """An error for the model."""
    return Result(text=text, is_error=True, unknown_outcome=unknown)
