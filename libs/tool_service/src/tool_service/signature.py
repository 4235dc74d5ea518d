"""What a tool's function takes: arguments from the model, and what the service gives it.

Above: `tool`, `service`. Below: msgspec, which makes a schema of types and holds values to it.
"""

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, get_type_hints

import msgspec
from msgspec import Struct

from tool_service.call import Call, Json


class Signature(Struct, frozen=True):
    """`arguments` has a field for each argument; `given` maps other parameters to their types."""

    arguments: type[Struct]
    given: Mapping[str, type]

    def injected(self, call: Call, opened: Mapping[type, Any]) -> Json:
        """The values of the parameters that the service fills in."""
        return {name: call if kind is Call else opened[kind] for name, kind in self.given.items()}

    def schema(self) -> Json:
        """The JSON Schema of the arguments. Raises: TypeError if a type has none."""
        (top,), shared = msgspec.json.schema_components(
            [self.arguments], ref_template="#/$defs/{name}"
        )
        own = shared.pop(top["$ref"].removeprefix("#/$defs/"))
        schema: Json = {"type": "object", "properties": own["properties"]}
        if own.get("required"):
            schema["required"] = own["required"]
        schema["additionalProperties"] = False
        return {**schema, "$defs": shared} if shared else schema


def signature_of(function: Callable[..., Any], resources: Collection[type]) -> Signature:
    """A function's parameters, those that the model gives apart from those that it doesn't."""
    hints = get_type_hints(function, include_extras=True)
    fields: list[Any] = []
    given: dict[str, type] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        kind = hints.get(name, Any)
        if kind is Call or kind in resources:
            given[name] = kind
        elif parameter.default is parameter.empty:
            fields.append((name, kind))
        else:
            fields.append((name, kind, parameter.default))
    struct = msgspec.defstruct(
        f"{function.__name__}_arguments", fields, kw_only=True, forbid_unknown_fields=True
    )
    return Signature(struct, given)
