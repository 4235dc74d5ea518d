"""What a service opens before its first call and closes after its last: databases, clients.

Above: `service`, `serve`. Below: nothing of ours.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, get_args, get_type_hints

from msgspec import Struct

Open = Callable[..., AsyncGenerator[Any]]


class CannotServe(Exception):
    """The service can't start; the message is one clear line."""


class Resource(Struct, frozen=True):
    """Something that is open while the service runs. `kind` is its type, `needs` what it asks."""

    kind: type
    needs: Mapping[str, type]
    open: Open


def resource_of(function: Open) -> Resource:
    """A resource from an async generator that yields it once: its type is what it yields."""
    hints = get_type_hints(function)
    kind = next(iter(get_args(hints.pop("return", None))), None)
    if not isinstance(kind, type):
        raise TypeError(f"{function.__name__} must be annotated to give an AsyncGenerator[TYPE].")
    return Resource(kind, hints, function)


async def open_all(
    resources: Sequence[Resource], stack: AsyncExitStack, data: Path
) -> dict[type, Any]:
    """Open them in order; the stack closes them. Raises: CannotServe, if one of them does."""
    opened: dict[type, Any] = {}
    for resource in resources:
        if Path in resource.needs.values():
            _make(data)
        known = {Path: data, **opened}
        given = {name: known[kind] for name, kind in resource.needs.items()}
        held = asynccontextmanager(resource.open)(**given)
        opened[resource.kind] = await stack.enter_async_context(held)
    return opened


def _make(data: Path) -> None:
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CannotServe(f"its folder {data} can't be made: {error.strerror}.") from error
