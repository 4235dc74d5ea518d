"""Compaction: old parts of the conversation become a summary. Above: `loop`.

Below: `cut` decides what, `summary` how it is said, `context` takes it in. The log loses nothing.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from brain.engine.harness.pi.context import Context, Group, summary_turn
from brain.engine.harness.pi.cut import (
    Cut,
    Room,
    cut,
    room_after_overflow,
    room_in,
    room_on_request,
)
from brain.engine.harness.pi.summary import Summaries
from brain.engine.harness.pi.tokens import CHARACTERS_PER_TOKEN, estimate, overhead
from brain.engine.harness.pi.transcript import transcript
from brain.engine.harness.protocol import KnownModels, SessionPort
from brain.engine.model.protocol import Turn
from brain_core.clock import Clock
from brain_core.events import CompactionFailed, ContextCompacted, ErrorInfo

CONTEXT_OVERFLOW = "context_overflow"
"""The same code as that of a provider which says that the context is too long."""

Why = Literal["nearly_full", "overflow", "request"]
_TURN_TITLE = "# The turn that is going on: its first part"
_NOT_SHORTER = ErrorInfo(
    CONTEXT_OVERFLOW, "The conversation is too long for the model, and can't be made shorter."
)


class Compactor:
    """Compacts one session's context."""

    def __init__(self, context: Context, known: KnownModels, clock: Clock) -> None:
        self._context = context
        self._known = known
        self._clock = clock

    def due(self, port: SessionPort) -> bool:
        """Whether the context nears the window, and a summary would free enough of it."""
        window = self._known.window(port.config.model)
        if window is None or self._context.compacted:
            return False
        room = room_in(window)
        if self._context.tokens(overhead(port.config, port.tools)) <= room.limit:
            return False
        scale = self._scale(port)
        place = cut(self._context, scale.of(room))
        return place is not None and place.freed >= scale.of(room).kept // 4

    async def compact(
        self, port: SessionPort, why: Why
    ) -> ContextCompacted | CompactionFailed | None:
        """The event of a compaction, not yet appended. None: there is nothing to summarise."""
        scale = self._scale(port)
        room = scale.of(_room(why, self._known.window(port.config.model), scale.size))
        place = cut(self._context, room)
        if place is None:
            return None
        summaries = Summaries(port, self._known, self._clock)
        summary = await self._summarise(summaries, place, room.limit * CHARACTERS_PER_TOKEN)
        if isinstance(summary, ErrorInfo):
            return CompactionFailed(summary, summaries.usage)
        after = scale.estimated - self._freed(place) + estimate([summary_turn(summary)])
        if after >= scale.estimated:
            return CompactionFailed(_NOT_SHORTER, summaries.usage)
        return ContextCompacted(
            summary,
            place.first_kept_seq,
            scale.counted,
            max(1, scale.counted * after // scale.estimated),
            summaries.usage,
        )

    async def _summarise(self, summaries: Summaries, place: Cut, longest: int) -> str | ErrorInfo:
        """One text for all that is cut off."""
        summary = self._context.summary
        if place.history:
            record = transcript(_turns(place.history), longest)
            history = await summaries.of_history(summary, record)
            if isinstance(history, ErrorInfo):
                return history
            summary = history
        if not place.prefix:
            assert summary is not None, "a cut has something before it"
            return summary
        prefix = await summaries.of_turn(transcript(_turns(place.prefix), longest))
        return prefix if isinstance(prefix, ErrorInfo) else _joined(summary, prefix)

    def _freed(self, place: Cut) -> int:
        old = self._context.summary
        return place.freed + (0 if old is None else estimate([summary_turn(old)]))

    def _scale(self, port: SessionPort) -> "_Scale":
        fixed = overhead(port.config, port.tools)
        return _Scale(estimate(self._context.turns()) + fixed, self._context.tokens(fixed))


class _Scale(Struct, frozen=True):
    """The whole context in estimated tokens, and as far as can be in those of the model."""

    estimated: int
    counted: int

    @property
    def size(self) -> int:
        """The larger of the two, to be on the safe side."""
        return max(self.estimated, self.counted)

    def of(self, room: Room) -> Room:
        """The room in estimated tokens."""
        return room.scaled(self.estimated, self.counted)


def _room(why: Why, window: int | None, tokens: int) -> Room:
    if why == "overflow":
        return room_after_overflow(window, tokens)
    if why == "request" or window is None:
        return room_on_request(window, tokens)
    return room_in(window)


def _turns(groups: Iterable[Group]) -> Iterator[Turn]:
    return (turn for group in groups for turn in group.turns)


def _joined(history: str | None, prefix: str) -> str:
    turn = f"{_TURN_TITLE}\n\n{prefix}"
    return turn if history is None else f"{history}\n\n{turn}"
