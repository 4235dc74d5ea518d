"""What a session's numbers and a message's content may be. Above: `creation`, `commands`.

The edge says the same of what comes over HTTP; this holds for whoever calls the engine itself, and
before anything gets into a log that can't be altered.
"""

import base64
import binascii
import math
import re
from collections.abc import Iterator, Sequence

from brain.engine.session.refused import Violation
from brain_core.content import ImageBlock, UserBlock
from brain_core.session import MAX_IMAGE_BYTES, MAX_TEMPERATURE, Budget, SessionConfig

_IMAGE_TYPE = re.compile(r"image/[A-Za-z0-9.+-]{1,120}")
_MOST_BASE64 = -(-MAX_IMAGE_BYTES // 3) * 4


def config_violations(config: SessionConfig) -> Iterator[Violation]:
    """What is wrong with a config, whatever this server has."""
    if config.max_steps < 1:
        yield Violation("/config/max_steps", "It must be at least 1.")
    if config.max_output_tokens is not None and config.max_output_tokens < 1:
        yield Violation("/config/max_output_tokens", "It must be at least 1.")
    # Said so that NaN, which compares with nothing, is refused too.
    if config.temperature is not None and not 0 <= config.temperature <= MAX_TEMPERATURE:
        detail = f"It must be a number from 0 to {MAX_TEMPERATURE:g}."
        yield Violation("/config/temperature", detail)
    if config.budget is not None:
        yield from _budget_violations(config.budget)


def _budget_violations(budget: Budget) -> Iterator[Violation]:
    if budget.tokens is not None and budget.tokens < 1:
        yield Violation("/config/budget/tokens", "It must be at least 1.")
    cost = budget.cost_usd
    if cost is not None and not (cost > 0 and math.isfinite(cost)):
        yield Violation("/config/budget/cost_usd", "It must be a number greater than 0.")


def content_violations(content: Sequence[UserBlock]) -> Iterator[Violation]:
    """What is wrong with the blocks of a message."""
    for index, block in enumerate(content):
        if isinstance(block, ImageBlock):
            yield from _image_violations(block, f"/content/{index}")
        elif not block.text:
            yield Violation(f"/content/{index}/text", "It must not be empty.")


def _image_violations(image: ImageBlock, pointer: str) -> Iterator[Violation]:
    detail = _wrong_with(image.data)
    if detail is not None:
        yield Violation(f"{pointer}/data", detail)
    if not _IMAGE_TYPE.fullmatch(image.mime_type):
        yield Violation(f"{pointer}/mime_type", "It must begin with `image/`, as in `image/png`.")


def _wrong_with(data: str) -> str | None:
    too_large = f"An image may have {MAX_IMAGE_BYTES} bytes at most."
    if len(data) > _MOST_BASE64:
        return too_large
    try:
        size = len(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        size = 0
    if not size:
        return "It must be base64, without line breaks and not as a URL."
    return too_large if size > MAX_IMAGE_BYTES else None
