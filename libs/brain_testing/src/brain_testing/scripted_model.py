"""A model inside the engine that says what a test tells it to.

Above: tests, which put it in by `Tuning.models`. Below: `brain.engine.model.protocol`. It refuses
an invalid request as a provider does, and remembers every request.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable

import msgspec
from msgspec import Struct

from brain.engine.model.protocol import Answer, Delta, Failure, ModelRequest, RequestedCall
from brain_core.content import TextBlock
from brain_core.usage import Usage
from brain_testing.desk import within
from brain_testing.request_rules import problems_of

USED = Usage(input_tokens=10, output_tokens=5)


class Gate:
    """A place in a reply where the model waits for the test."""

    def __init__(self) -> None:
        self._reached = asyncio.Event()
        self._opened = asyncio.Event()
        self.left = asyncio.Event()
        """Set once the call is over, whether it went on or was broken off."""

    async def reached(self) -> None:
        """Wait until a call has come here."""
        await within(self._reached.wait())

    def open(self) -> None:
        """Let the call go on."""
        self._opened.set()

    async def pass_through(self) -> None:
        self._reached.set()
        try:
            await self._opened.wait()
        finally:
            self.left.set()


Piece = Delta | Answer | Failure | Gate | Exception
"""An exception is raised there, which no model ought to do."""

Reply = tuple[Piece, ...]
Script = Callable[[ModelRequest], Reply]


def text(said: str, usage: Usage = USED) -> Reply:
    """An answer in words."""
    return Delta("text", said), Answer((TextBlock(said),), "end_turn", usage)


def calls(*wanted: tuple[str, str], usage: Usage = USED, cut_off: bool = False) -> Reply:
    """An answer that calls tools: name and arguments of each."""
    blocks = tuple(RequestedCall(*each) for each in wanted)
    return (Answer(blocks, "length" if cut_off else "tool_calls", usage),)


def fails(
    code: str, *, transient: bool = False, usage: Usage | None = None, after: float | None = None
) -> Reply:
    """A failure; `after` is when the provider wants to be asked again."""
    return (Failure(code, f"It failed: {code}.", transient, usage or Usage(), after),)


_OK = text("ok")


class ScriptedModel:
    """Replies in the order given; after the last one, and for ever, by `otherwise`.

    `requests` are all that came. `refused` is what was wrong with any of them; a test whose
    requests must be valid asserts that it is empty.
    """

    def __init__(self, *replies: Reply | Script, otherwise: Reply | Script = _OK) -> None:
        self.requests: list[ModelRequest] = []
        self.refused: list[str] = []
        self._replies = list(replies)
        self._otherwise = otherwise
        self._arrived = asyncio.Condition()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Answer | Failure, None]:
        self.requests.append(request)
        async with self._arrived:
            self._arrived.notify_all()
        problems = problems_of(request.turns)
        if problems:
            self.refused += problems
            yield Failure("bad_request", "; ".join(problems), transient=False, usage=Usage())
            return
        for piece in self._next(request):
            if isinstance(piece, Gate):
                await piece.pass_through()
            elif isinstance(piece, Exception):
                raise piece
            else:
                yield piece

    def _next(self, request: ModelRequest) -> Reply:
        reply = self._replies.pop(0) if self._replies else self._otherwise
        return reply(request) if callable(reply) else reply

    def add(self, *replies: Reply | Script) -> None:
        """Further replies."""
        self._replies += replies

    async def asked(self, times: int) -> None:
        """Wait until so many requests have come."""
        async with self._arrived:
            await within(self._arrived.wait_for(lambda: len(self.requests) >= times))


class Known(Struct, frozen=True):
    """What is known of every model: its window, and US dollars for each token."""

    tokens: int | None = None
    price: float | None = None

    def window(self, model_id: str) -> int | None:  # noqa: ARG002 - the same for all
        return self.tokens

    def cost(self, model_id: str, usage: Usage) -> float | None:  # noqa: ARG002
        return None if self.price is None else self.price * (usage.tokens or 0)


def texts(request: ModelRequest) -> str:
    """All of a request's conversation as JSON, to look for something in it."""
    return msgspec.json.encode([turn.content for turn in request.turns]).decode()
