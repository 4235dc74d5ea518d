"""A script as what happens to the answer's parts. Above: the wire formats. Below: `script`.

A part is opened, gets its pieces, and is closed as soon as none of them is left: so that calls
whose pieces come in turn stay open side by side.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from brain_testing.model_server.script import (
    Call,
    Cut,
    Finish,
    More,
    Refuse,
    Say,
    Step,
    StreamError,
    Think,
    Used,
)
from brain_testing.scripted_model import Gate

Kind = Literal["text", "thinking", "sealed", "call", "refusal"]
Reason = Literal["stop", "tool_calls", "length", "content_filter"]
_WORD = re.compile(r"\s*\S+\s*|\s+")
_FEW = re.compile(r".{1,5}", re.DOTALL)


class Part(Struct):
    """A part of the answer: `index` among all, `place` among those of its kind."""

    kind: Kind
    index: int
    place: int
    name: str = ""
    text: str = ""

    @property
    def call_id(self) -> str:
        """The provider's own id for a call."""
        return f"call_{self.place}"


class Opened(Struct, frozen=True):
    """A part begins."""

    part: Part


class Piece(Struct, frozen=True):
    """A piece of a part that is open; `part.text` has it already."""

    part: Part
    text: str


class Closed(Struct, frozen=True):
    """A part is complete."""

    part: Part


Happening = Opened | Piece | Closed | Gate | Cut | StreamError


class Told(Struct, frozen=True):
    """A script that was looked through: what happens, how it ends, what it cost."""

    steps: tuple[Step, ...]
    finish: Reason
    refused: bool
    used: Used

    def happenings(self) -> Iterator[Happening]:
        """One after the other; what comes after a gate only when asked for."""
        return _Parts(self.steps).happenings()

    def parts(self) -> list[Part]:
        """All parts, complete; for an answer that isn't streamed."""
        return [each.part for each in self.happenings() if isinstance(each, Closed)]


def told(steps: Iterable[Step]) -> Told:
    """The script, looked through."""
    script = tuple(steps)
    finish: Reason = "tool_calls" if any(isinstance(step, Call) for step in script) else "stop"
    for step in script:
        if isinstance(step, Finish):
            finish = step.reason
    return Told(
        script,
        finish,
        any(isinstance(step, Refuse) for step in script),
        next((step for step in script if isinstance(step, Used)), Used()),
    )


class _Parts:
    def __init__(self, steps: tuple[Step, ...]) -> None:
        self._steps = steps
        self._parts: list[Part] = []
        self._open: list[Part] = []
        self._last: Part | None = None

    def happenings(self) -> Iterator[Happening]:
        for at, step in enumerate(self._steps):
            if isinstance(step, Gate | Cut | StreamError):
                yield step
            elif not isinstance(step, Used | Finish):
                yield from self._take(step, self._steps[at + 1 :])
        yield from self._close(self._open)

    def _take(
        self, step: Say | Think | Call | More | Refuse, later: tuple[Step, ...]
    ) -> Iterator[Happening]:
        part, pieces = self._goes_on(step)
        if part is None:
            yield from self._close(self._done(later))
            part = self._begin(step)
            yield Opened(part)
        for piece in pieces:
            part.text += piece
            yield Piece(part, piece)
        self._last = part

    def _goes_on(self, step: Say | Think | Call | More | Refuse) -> tuple[Part | None, list[str]]:
        """The open part that a step goes on with, and the step's pieces."""
        if isinstance(step, More):
            called = [part for part in self._parts if part.kind == "call"]
            return called[step.place], _FEW.findall(step.arguments)
        if isinstance(step, Call):
            return None, _FEW.findall(step.arguments)
        same = self._last is not None and self._last.kind == _kind(step)
        return (self._last if same else None), _WORD.findall(step.text)

    def _begin(self, step: Say | Think | Call | More | Refuse) -> Part:
        kind = _kind(step)
        place = sum(part.kind == kind for part in self._parts)
        name = step.name if isinstance(step, Call) else ""
        part = Part(kind, len(self._parts), place, name)
        self._parts.append(part)
        self._open.append(part)
        return part

    def _done(self, later: tuple[Step, ...]) -> list[Part]:
        """The open parts of which nothing is to come any more."""
        awaited = {step.place for step in later if isinstance(step, More)}
        return [p for p in self._open if p.kind != "call" or p.place not in awaited]

    def _close(self, parts: list[Part]) -> Iterator[Closed]:
        for part in tuple(parts):
            self._open.remove(part)
            yield Closed(part)


def _kind(step: Say | Think | Call | More | Refuse) -> Kind:
    if isinstance(step, Say):
        return "text"
    if isinstance(step, Think):
        return "sealed" if step.sealed else "thinking"
    return "refusal" if isinstance(step, Refuse) else "call"
