"""A tool: an async function, the schema of its arguments, and how it is run.

Above: `service`, `answer`. Below: `signature`, `result`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import jsonschema_rs
import msgspec
import structlog
from msgspec import Struct

from tool_service.call import Call, Json
from tool_service.result import Result, ToolError, UnknownOutcome, failure, result_of
from tool_service.signature import Signature

_log = structlog.get_logger(__name__)

Function = Callable[..., Awaitable[Any]] | Callable[..., AsyncIterator[Any]]
Opened = Mapping[type, Any]
"""The service's resources that are open, by type."""


class Tool(Struct, frozen=True, kw_only=True):
    """A tool as its service offers it. Its function is called with what `signature` says."""

    name: str
    description: str
    input_schema: Json
    output_schema: Json | None
    inspect_session: bool
    timeout_seconds: int
    max_output_bytes: int
    function: Function
    signature: Signature
    schema_given: bool

    async def run(self, call: Call, opened: Opened) -> Result:
        """Answer a call: whatever the function does comes out as a result."""
        try:
            given = self._given(call)
        except (msgspec.ValidationError, jsonschema_rs.ValidationError) as error:
            return failure(f"The arguments aren't valid: {_first_line(error)}.")
        try:
            return await self._answer(call, {**given, **self.signature.injected(call, opened)})
        except ToolError as error:
            return failure(str(error))
        except UnknownOutcome as error:
            return failure(str(error), unknown=True)
        except Exception as error:  # noqa: BLE001 - a bug in a tool is an answer too
            # Its name and place only: a message may hold arguments or secrets.
            _log.error("tool_failed", tool=self.name, error=place(error))
            return failure("The tool failed inside. It may have done its work.", unknown=True)

    def _given(self, call: Call) -> Json:
        if self.schema_given:
            jsonschema_rs.validate(self.input_schema, call.arguments, validate_formats=True)
            return dict(call.arguments)
        struct = msgspec.convert(call.arguments, self.signature.arguments)
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


def place(error: BaseException) -> str:
    """An exception's name, and where it was raised: nothing of what it says."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f" at {trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"
    return type(error).__name__ + where


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0].rstrip(".")
