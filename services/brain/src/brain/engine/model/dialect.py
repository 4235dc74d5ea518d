"""What a wire format has to know. Above: `http_model`. Below: one dialect for each format.

A dialect does no I/O: it turns a request into a body, and the data of events into an answer.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from brain.engine.model.pricing import ModelFacts
from brain.engine.model.protocol import Answer, Delta, ModelRequest
from brain.engine.model.provider_errors import ProviderError
from brain_core.usage import Usage


class Target(Struct, frozen=True):
    """The model that a request is for: its full id, and what is known of it."""

    model_id: str
    facts: ModelFacts


class Reader(Protocol):
    """Reads one answer.

    `done` once nothing of use can follow. `usage` is what has been used so far; a new object each
    time that more is known.
    """

    done: bool
    usage: Usage

    def read(self, data: bytes) -> Sequence[Delta]:
        """The pieces in one event's data. Raises: MsgspecError if it isn't in this format."""
        ...

    def end(self) -> Answer | ProviderError | None:
        """What the stream came to; None if the answer isn't whole."""
        ...


class Dialect(Protocol):
    """A wire format."""

    def url(self, base_url: str) -> str:
        """Where a request is posted to."""
        ...

    def headers(self, key: str | None) -> dict[str, str]:
        """What the format needs beside the content type."""
        ...

    def body(self, request: ModelRequest, target: Target) -> bytes:
        """The request as JSON. Raises: MsgspecError, UnicodeError if it can't be written."""
        ...

    def reader(self) -> Reader:
        """A reader for one answer."""
        ...
