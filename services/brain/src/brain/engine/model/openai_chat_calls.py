"""Which call a piece of one belongs to. Above: `openai_chat_reader`. Below: `draft`.

The format tells calls apart by `index`. Servers that imitate it leave out the index or the id,
give every call the index 0, or say id and name again with each piece.
"""

from typing import Any

import msgspec
from msgspec import Struct

from brain.engine.model.draft import Draft, Part


class CalledDelta(Struct, frozen=True):
    """A piece of the function of a call. Some servers give the arguments as an object, whole."""

    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class CallDelta(Struct, frozen=True):
    """A piece of a call."""

    index: int | None = None
    id: str | None = None
    function: CalledDelta | None = None
    extra_content: Any = None


class _Call:
    def __init__(self, part: Part, delta: CallDelta) -> None:
        self.part = part
        self.index = delta.index
        self.id = delta.id
        self.extra: Any = None


class Calls:
    """The calls of one answer, in the order in which they began."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._calls: list[_Call] = []

    def part(self, delta: CallDelta) -> Part:
        """The call that this piece belongs to."""
        name = delta.function.name if delta.function is not None else None
        call = self._find(delta, name)
        if call is None:
            call = _Call(self._draft.open("tool_arguments"), delta)
            self._calls.append(call)
        call.id = call.id or delta.id
        call.part.name = call.part.name or name or ""
        if delta.extra_content is not None:
            call.extra = delta.extra_content
        return call.part

    def extras(self) -> dict[int, Any]:
        """What the server wants back with each call, by the call's place."""
        return {
            place: call.extra for place, call in enumerate(self._calls) if call.extra is not None
        }

    def _find(self, delta: CallDelta, name: str | None) -> _Call | None:
        call = self._latest(delta)
        if call is None:
            return None
        if delta.id and call.id:
            return call if delta.id == call.id else None
        # Neither has an id: a name said again begins another call once this one is complete.
        return None if name and call.part.name and _is_json(call.part.text) else call

    def _latest(self, delta: CallDelta) -> _Call | None:
        """The last call with this index; without one, the one with this id, or the last of all."""
        if delta.index is not None:
            found = (call for call in reversed(self._calls) if call.index == delta.index)
            return next(found, None)
        with_id = (call for call in self._calls if delta.id and call.id == delta.id)
        return next(with_id, self._calls[-1] if self._calls else None)


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True


def arguments_of(delta: CallDelta) -> str:
    """The piece's part of the arguments, as text."""
    arguments = delta.function.arguments if delta.function is not None else None
    if isinstance(arguments, dict):
        return msgspec.json.encode(arguments).decode()
    return arguments or ""
