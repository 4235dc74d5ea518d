"""A tool: an async function, the schema of its arguments, and how it is run. Above: `service`."""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, get_type_hints

import jsonschema_rs
import msgspec
import structlog
from msgspec import Struct

from tool_service.call import Call
from tool_service.result import Result, ToolError, UnknownOutcome, failure, result_of

_log = structlog.get_logger(__name__)

Json = dict[str, Any]
Function = Callable[..., Awaitable[Any]] | Callable[..., AsyncIterator[Any]]


class Tool(Struct, frozen=True):
    """A tool as its service offers it. `call_parameter` names the one that takes the `Call`."""

    name: str
    description: str
    input_schema: Json
    output_schema: Json | None
    inspect_session: bool
    timeout_seconds: int
    function: Function
    arguments: type[Struct] | None
    call_parameter: str | None

    async def run(self, call: Call, arguments: Json) -> Result:
        """Answer a call: whatever the function does comes out as a result."""
        try:
            given = self._given(arguments)
        except (msgspec.ValidationError, jsonschema_rs.ValidationError) as error:
            return failure(f"The arguments aren't valid: {_first_line(error)}.")
        if self.call_parameter is not None:
            given[self.call_parameter] = call
        try:
            return await self._answer(call, given)
        except ToolError as error:
            return failure(str(error))
        except UnknownOutcome as error:
            return failure(str(error), unknown=True)
        except Exception as error:  # noqa: BLE001 - a bug in a tool is an answer too
            # Its name and place only: a message may hold arguments or secrets.
            _log.error("tool_failed", tool=self.name, call_id=call.call_id, error=_place(error))
            return failure("The tool failed inside. It may have done its work.", unknown=True)

    def _given(self, arguments: Json) -> Json:
        if self.arguments is None:
            jsonschema_rs.validate(self.input_schema, arguments, validate_formats=True)
            return dict(arguments)
        struct = msgspec.convert(arguments, self.arguments)
        return {name: getattr(struct, name) for name in struct.__struct_fields__}

    async def _answer(self, call: Call, given: Json) -> Result:
        answer = self.function(**given)
        if isinstance(answer, Awaitable):
            return result_of(await answer)
        async for item in answer:
            if isinstance(item, Result):
                return item
            await call.progress(item)
        return failure("The tool ended without a result. It may have done its work.", unknown=True)


def make_tool(
    function: Function,
    description: str,
    *,
    name: str | None,
    input_schema: Json | None,
    output_schema: Json | None,
    inspect_session: bool,
    timeout_seconds: int,
) -> Tool:
    """A tool from a function: its arguments' schema comes from their types, unless it is given."""
    arguments, call_parameter = _arguments(function)
    return Tool(
        name=name or function.__name__,
        description=description,
        input_schema=input_schema or _schema(arguments),
        output_schema=output_schema,
        inspect_session=inspect_session,
        timeout_seconds=timeout_seconds,
        function=function,
        arguments=None if input_schema else arguments,
        call_parameter=call_parameter,
    )


def _arguments(function: Function) -> tuple[type[Struct], str | None]:
    hints = get_type_hints(function, include_extras=True)
    fields: list[Any] = []
    call_parameter: str | None = None
    for name, parameter in inspect.signature(function).parameters.items():
        kind = hints.get(name, Any)
        if kind is Call:
            call_parameter = name
        elif parameter.default is parameter.empty:
            fields.append((name, kind))
        else:
            fields.append((name, kind, parameter.default))
    struct = msgspec.defstruct(
        f"{function.__name__}_arguments", fields, kw_only=True, forbid_unknown_fields=True
    )
    return struct, call_parameter


def _schema(arguments: type[Struct]) -> Json:
    (top,), shared = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")
    own = shared.pop(top["$ref"].removeprefix("#/$defs/"))
    schema: Json = {"type": "object", "properties": own["properties"]}
    if own.get("required"):
        schema["required"] = own["required"]
    schema["additionalProperties"] = False
    return {**schema, "$defs": shared} if shared else schema


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0].rstrip(".")


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f" at {trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"
    return type(error).__name__ + where
