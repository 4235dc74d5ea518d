"""Decides where a check is done: at once, or in a worker process. Above: `dispatch`.

Below: `checks`, `check_pool`. A check that is sure to be short is done at once, which is nearly
every one; all sessions of the engine wait meanwhile. Any other costs about a fifth of a
millisecond more and keeps nobody waiting, whatever the schema or the document is.
"""

from brain.engine.tool import checks
from brain.engine.tool.catalog import Tool
from brain.engine.tool.check_pool import CheckPool
from brain.engine.tool.checks import (
    CheckArguments,
    Checked,
    CheckMcpResult,
    CheckProgress,
    CheckResult,
    Job,
)
from brain.engine.tool.outcome import Code, Failure
from brain.engine.tool.schema import Schema

AT_ONCE_BYTES = 32 * 1024
"""Of a document. The worst that JSON can be takes some 10 ms to read at this size."""

AT_ONCE_WORK = 500_000
"""Schema weight times document bytes: a few milliseconds."""

_UNFINISHED = "It could not be checked in the time and memory that a check may take."


class Checker:
    """Checks arguments, progress and results."""

    def __init__(self, seconds: float) -> None:
        """A check that is not done at once may take this long."""
        self._pool = CheckPool(seconds)

    async def arguments(self, tool: Tool, text: bytes) -> Checked:
        """Compact JSON of the arguments, or why they are refused."""
        if _is_short(text, tool.input):
            return checks.check_arguments(tool.input, text)
        job = CheckArguments(bytes(tool.binding.input_schema), text)
        return await self._perform(tool, job, Code.REFUSED_ARGUMENTS)

    async def progress(self, tool: Tool, text: bytes) -> Checked:
        """Compact JSON of a progress payload, or why it isn't one."""
        if _is_short(text, None):
            return checks.check_progress(text)
        return await self._perform(tool, CheckProgress(text), Code.BAD_EVENT)

    async def result(self, tool: Tool, text: bytes) -> Checked:
        """The result that a service or an MCP server sent, or why it isn't one."""
        mcp = tool.binding.mcp_tool is not None
        if _is_short(text, tool.output):
            check = checks.check_mcp_result if mcp else checks.check_result
            return check(tool.output, text)
        schema = tool.binding.output_schema
        kind = CheckMcpResult if mcp else CheckResult
        job = kind(None if schema is None else bytes(schema), text)
        return await self._perform(tool, job, Code.BAD_RESULT)

    async def aclose(self) -> None:
        """End the worker processes."""
        await self._pool.aclose()

    async def _perform(self, tool: Tool, job: Job, otherwise: Code) -> Checked:
        checked = await self._pool.perform(tool.binding.name, job)
        return checked or Checked(Failure(otherwise, _UNFINISHED))


def _is_short(text: bytes, schema: Schema | None) -> bool:
    if len(text) > AT_ONCE_BYTES:
        return False
    return schema is None or schema.weight * len(text) <= AT_ONCE_WORK
