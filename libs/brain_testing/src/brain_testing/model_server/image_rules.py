"""What every provider demands of an image: one of four types, and bytes of that very type."""

import base64
import binascii
import re
from collections.abc import Iterator

_FIRST_BYTES = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF.{4}WEBP", re.DOTALL),
}
_DATA_URL = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)
_MAX_BYTES = 5 * 1024 * 1024


def url_problems(url: str) -> Iterator[str]:
    """What is wrong with an image's URL. One that leads elsewhere is not followed."""
    match = _DATA_URL.fullmatch(url)
    if match is not None:
        yield from image_problems(match[1], match[2])
    elif not url.startswith("https://"):
        yield "Invalid image_url: expected a base64-encoded data URL or an https URL."


def image_problems(media_type: str, data: str) -> Iterator[str]:
    """What is wrong with an image."""
    first_bytes = _FIRST_BYTES.get(media_type)
    if first_bytes is None:
        yield f"Unsupported image type {media_type!r}. Expected one of {', '.join(_FIRST_BYTES)}."
        return
    try:
        decoded = base64.b64decode(data, validate=True)
    except binascii.Error:
        yield "Invalid base64 image data."
        return
    if first_bytes.match(decoded) is None:
        yield f"The image was specified using the {media_type} media type, but isn't one."
    if len(decoded) > _MAX_BYTES:
        yield f"Image exceeds 5 MB maximum: {len(decoded)} bytes > {_MAX_BYTES} bytes."
