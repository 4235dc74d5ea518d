"""What a scripted answer consists of, in terms that all three formats have. Above: tests.

    (Think("Hm."), Say("I'll ask."), Call("ask", '{"q":1}'), Used(input=10, output=5))

Steps are taken one after the other. A step of a kind goes on with the last one's part, so that a
gate can stand in the middle of a text. What a script doesn't say is as usual: the finish reason is
what the parts make it, and the usage is `Used()`.
"""

from typing import Literal

from msgspec import Struct

from brain_testing.scripted_model import Gate


class Say(Struct, frozen=True):
    """The model says something; it is streamed word by word."""

    text: str


class Think(Struct, frozen=True):
    """The model thinks aloud. `sealed` thoughts are ones that only the provider can read."""

    text: str
    sealed: bool = False


class Call(Struct, frozen=True):
    """The model calls a tool; the arguments are streamed in pieces of a few letters."""

    name: str
    arguments: str = ""


class More(Struct, frozen=True):
    """More of the arguments of a call: the first of the answer has the place 0."""

    place: int
    arguments: str


class Refuse(Struct, frozen=True):
    """The model refuses, and says why."""

    text: str


class Used(Struct, frozen=True):
    """Tokens. `input` has none of the cache's; `reasoning` are part of `output`."""

    input: int = 10
    output: int = 5
    cached: int = 0
    written: int = 0
    reasoning: int = 0


class Finish(Struct, frozen=True):
    """Why the model ended, if not for the usual reason."""

    reason: Literal["length", "content_filter"]


class Cut(Struct, frozen=True):
    """The connection breaks."""


class StreamError(Struct, frozen=True):
    """The provider reports an error in the middle of the stream, and ends it."""

    status: int = 500
    message: str = "Something went wrong."


class Status(Struct, frozen=True):
    """The provider answers with an error instead: the only step of its script.

    The body is the provider's own for this status unless one is given.
    """

    status: int
    message: str = "Something went wrong."
    headers: dict[str, str] = {}
    body: str | None = None
    content_type: str = "application/json"


class Recorded(Struct, frozen=True):
    """A whole recorded stream, byte for byte: the only step of its script."""

    data: bytes
    content_type: str = "text/event-stream"


Step = Say | Think | Call | More | Refuse | Used | Finish | Gate | Cut | StreamError
Script = tuple[Step, ...] | tuple[Status] | tuple[Recorded]
"""An answer to one request."""
