"""Where a conversation is cut when it is compacted. Above: `compaction`. Below: `context`.

All here is counted in estimated tokens. Where a model has counted otherwise, the limits are brought
to that scale first.
"""

from msgspec import Struct

from brain.engine.harness.pi.context import Context, Group
from brain.engine.harness.pi.tokens import estimate

RESERVED_TOKENS = 16_384
"""What a window must have room for beyond the context: the answer, and what estimates miss."""

KEPT_TOKENS = 20_000
"""About so much of the recent conversation stays as it is."""


class Cut(Struct, frozen=True):
    """What is summarised, and the seq from which on everything is kept.

    If the cut lies inside a turn, `prefix` is what of that turn is cut off; it has a summary of
    its own. `freed` is how much there is to summarise.
    """

    history: tuple[Group, ...]
    prefix: tuple[Group, ...]
    first_kept_seq: int
    freed: int


class Room(Struct, frozen=True):
    """How large a context may be, and how much of it may be kept as it is."""

    limit: int
    kept: int

    def scaled(self, estimated: int, counted: int) -> "Room":
        """The same room in estimated tokens, where so many of them were counted as so many.

        It only becomes smaller: some models count less than what they read.
        """
        if counted <= estimated:
            return self
        return Room(self.limit * estimated // counted, self.kept * estimated // counted)


def room_in(window: int) -> Room:
    """The room in a window. A small one is divided, so that there is some of each."""
    limit = max(window - RESERVED_TOKENS, window // 3)
    return Room(limit, min(KEPT_TOKENS, limit // 2))


def room_after_overflow(window: int | None, tokens: int) -> Room:
    """The room when so many tokens were too many, whatever was thought of the window."""
    limit = tokens * 2 // 3
    if window is not None:
        limit = min(limit, room_in(window).limit)
    return Room(limit, min(KEPT_TOKENS, limit // 2))


def room_on_request(window: int | None, tokens: int) -> Room:
    """The room when somebody asks for a compaction that need not be."""
    return Room(tokens, KEPT_TOKENS) if window is None else room_in(window)


def cut(context: Context, room: Room) -> Cut | None:
    """Where to cut; None if there is nothing to summarise.

    Groups are never taken apart. What the user said last is kept in any case, for it is yet to be
    answered; the last answer and its results are, unless they alone fill the room.
    """
    groups = context.groups
    end = _last_cut(groups, room)
    start = len(groups)
    kept = 0
    while start > 0:
        kept += estimate(groups[start - 1].turns)
        if kept > room.kept and start <= end:
            break
        start -= 1
    if start == 0:
        return None
    first_kept_seq = groups[start].seq if start < len(groups) else context.last_seq + 1
    turn = _turn_cut_by(groups, start)
    freed = sum(estimate(group.turns) for group in groups[:start])
    return Cut(tuple(groups[:turn]), tuple(groups[turn:start]), first_kept_seq, freed)


def _last_cut(groups: list[Group], room: Room) -> int:
    """The last place where a cut may be: all behind it is kept."""
    place = len(groups)
    while place > 0 and groups[place - 1].from_user:
        place -= 1
    if 0 < place == len(groups) and estimate(groups[-1].turns) <= room.limit * 3 // 4:
        place -= 1
    return place


def _turn_cut_by(groups: list[Group], place: int) -> int:
    """Where the turn begins that a cut lies in; the place itself if it lies in none.

    A turn whose beginning has been summarised already is history.
    """
    if place < len(groups) and groups[place].begins_turn:
        return place
    starts = [index for index in range(place) if groups[index].begins_turn]
    return starts[-1] if starts else place
