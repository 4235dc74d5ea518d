"""An answer in the making. Above: the three readers. Below: `protocol`.

A part is opened where the model first says something of its kind; pieces are added to it in
whatever order they come.
"""

from typing import Literal

from msgspec import UNSET, Raw, UnsetType

from brain.engine.model.protocol import Answer, AnswerBlock, Delta, RequestedCall
from brain_core.content import TextBlock, ThinkingBlock
from brain_core.usage import Usage

Kind = Literal["text", "thinking", "tool_arguments"]


class Part:
    """A text, a thought or a tool call. `index` tells tool calls apart; others have 0."""

    __slots__ = ("_pieces", "index", "kind", "name", "replay")

    def __init__(self, kind: Kind, index: int = 0, name: str = "") -> None:
        self.kind: Kind = kind
        self.index = index
        self.name = name
        self.replay: Raw | UnsetType = UNSET
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        """All pieces so far."""
        return "".join(self._pieces)

    def add(self, piece: str) -> Delta:
        """Take in one more piece."""
        self._pieces.append(piece)
        return Delta(self.kind, piece, self.index)

    def block(self) -> AnswerBlock | None:
        """The whole part, or None if there is nothing in it."""
        if self.kind == "tool_arguments":
            arguments = self.text
            return RequestedCall(self.name, arguments if arguments.strip() else "{}")
        if self.kind == "text":
            return TextBlock(self.text) if self._pieces else None
        empty = not self._pieces and self.replay is UNSET
        return None if empty else ThinkingBlock(self.text, self.replay)


class Draft:
    """The parts of an answer, in the order in which they were opened."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._calls = 0

    def __bool__(self) -> bool:
        return bool(self._parts)

    def open(self, kind: Kind, name: str = "") -> Part:
        """A new part, after all others."""
        index = 0
        if kind == "tool_arguments":
            index = self._calls
            self._calls += 1
        part = Part(kind, index, name)
        self._parts.append(part)
        return part

    def answer(self, *, cut_off: bool, usage: Usage) -> Answer:
        """The whole answer. Whether it has calls is seen, whatever the provider says of it."""
        blocks = tuple(block for part in self._parts if (block := part.block()) is not None)
        if cut_off:
            return Answer(blocks, "length", usage)
        return Answer(blocks, "tool_calls" if self._calls else "end_turn", usage)
