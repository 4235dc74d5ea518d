"""Events that say in a field `type` what they are. Above: two of the readers.

Providers add new ones at any time, with whatever in them: what isn't known is passed over.
"""

from collections.abc import Set as AbstractSet
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

_E = TypeVar("_E")


class _Typed(Struct, frozen=True):
    type: str


_decode_type = msgspec.json.Decoder(_Typed).decode


class TypedEvents(Generic[_E]):
    """Decodes events into one struct; `known` are the types that have to fit it."""

    def __init__(self, event: type[_E], known: AbstractSet[str]) -> None:
        self._decode = msgspec.json.Decoder(event).decode
        self._known = known

    def decode(self, data: bytes) -> _E | None:
        """The event; None if it is of an unknown type and unlike others. Raises: MsgspecError."""
        try:
            return self._decode(data)
        except msgspec.ValidationError:
            if _decode_type(data).type in self._known:
                raise
            return None
