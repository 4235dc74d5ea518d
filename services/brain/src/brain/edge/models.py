"""What clients send, as pydantic models: checked strictly, unknown fields refused.

Above: routes. Below: nothing. The limits that the wire's integers set are in here too.
"""

import base64
import binascii
from collections import Counter
from typing import Annotated, Any, Literal, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
)

from brain.edge.validation import TAG
from brain_core.session import (
    DEFAULT_MAX_STEPS,
    MAX_IMAGE_BYTES,
    MAX_TEMPERATURE,
    Delivery,
    Thinking,
)

_MAX_INT32 = 2**31 - 1
_MAX_INT64 = 2**63 - 1
_BASE64_PATTERN = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
"""Only for the OpenAPI document: over megabytes, the decoder is the faster check."""


class _Request(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def _unique(names: list[str]) -> list[str]:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"Each name may stand here once; twice: {', '.join(twice)}.")
    return names


def _image_data(data: str) -> str:
    try:
        size = len(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        raise ValueError("This must be base64, without line breaks and not as a URL.") from None
    if size > MAX_IMAGE_BYTES:
        raise ValueError(f"An image may have {MAX_IMAGE_BYTES} bytes at most.")
    return data


class NewBudget(_Request):
    """How much the session may use in all; null is no limit."""

    tokens: Annotated[int, Field(ge=1, le=_MAX_INT64)] | None = None
    cost_usd: Annotated[float, Field(gt=0)] | None = None


class NewSessionConfig(_Request):
    """What the session is made with."""

    model: Annotated[str, Field(min_length=1, max_length=256, examples=["demo/script"])]
    tools: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=256)]],
        Field(max_length=256, json_schema_extra={"uniqueItems": True}, examples=[["echo"]]),
        AfterValidator(_unique),
    ] = []
    system_prompt: str | None = None
    max_steps: Annotated[int, Field(ge=1, le=_MAX_INT32)] = DEFAULT_MAX_STEPS
    max_output_tokens: Annotated[int, Field(ge=1, le=_MAX_INT32)] | None = None
    temperature: Annotated[float, Field(ge=0, le=MAX_TEMPERATURE)] | None = None
    thinking: Thinking = "off"
    budget: NewBudget | None = None


class CreateSession(_Request):
    """The body of `POST /sessions`."""

    harness: Annotated[str, Field(min_length=1, max_length=64, examples=["pi"])]
    config: NewSessionConfig
    metadata: Annotated[
        dict[str, Any], Field(description="Any JSON object, kept as it is and given back.")
    ] = {}


class Text(_Request):
    """Plain text."""

    type: Literal["text"]
    text: Annotated[str, Field(min_length=1)]


class Image(_Request):
    """An image in base64."""

    type: Literal["image"]
    data: Annotated[
        str,
        Field(
            min_length=1,
            json_schema_extra={"contentEncoding": "base64", "pattern": _BASE64_PATTERN},
        ),
        AfterValidator(_image_data),
    ]
    mime_type: Annotated[str, Field(pattern=r"^image/[A-Za-z0-9.+-]{1,120}$")]


def _block_type(value: Any) -> str | None:
    kind: Any = cast("dict[str, Any]", value).get("type") if isinstance(value, dict) else None
    return TAG + kind if isinstance(kind, str) else None


def _content_type(value: Any) -> str | None:
    if isinstance(value, str):
        return TAG + "text"
    return TAG + "blocks" if isinstance(value, list) else None


Block = Annotated[
    Annotated[Text, Tag(TAG + "text")] | Annotated[Image, Tag(TAG + "image")],
    Discriminator(
        _block_type,
        custom_error_type="block_type",
        custom_error_message="A block is an object whose `type` is `text` or `image`.",
    ),
]
Content = Annotated[
    Annotated[str, Field(min_length=1), Tag(TAG + "text")]
    | Annotated[list[Block], Field(min_length=1), Tag(TAG + "blocks")],
    Discriminator(
        _content_type,
        custom_error_type="content_type",
        custom_error_message="Content is text or a list of blocks.",
    ),
]


class SendMessage(_Request):
    """The body of `POST /sessions/{id}/messages`."""

    content: Content
    delivery: Annotated[
        Delivery, Field(description="What happens to the message while a turn runs.")
    ] = "queue"

    @property
    def has_images(self) -> bool:
        """Whether any of its blocks is an image."""
        content = self.content
        return not isinstance(content, str) and any(isinstance(each, Image) for each in content)


class Interrupt(_Request):
    """The body of `POST /sessions/{id}/interrupt`, which may be left out."""

    keep_queue: Annotated[
        bool, Field(description="Messages that wait stay in the queue; else they are withdrawn.")
    ] = False


class Close(_Request):
    """The body of `POST /sessions/{id}/close`, which may be left out."""


class Compact(_Request):
    """The body of `POST /sessions/{id}/compact`, which may be left out."""
