"""A reply that is one JSON document. Above: `http_call`. Below: the body's bytes."""

from collections.abc import Awaitable, Callable

from brain.engine.tool.outcome import Code, Failure

More = Callable[[], Awaitable[bytes]]
"""Gives some more of a body, or nothing at its end."""


async def read_json(more: More, max_bytes: int) -> bytes | Failure:
    """The whole body, or `too_large` as soon as it has one byte more than `max_bytes`."""
    received = bytearray()
    while chunk := await more():
        received += chunk
        if len(received) > max_bytes:
            return too_large(max_bytes)
    return bytes(received)


def too_large(max_bytes: int) -> Failure:
    """The service sent more than it may."""
    return Failure(Code.TOO_LARGE, f"The limit is {max_bytes} bytes.")
