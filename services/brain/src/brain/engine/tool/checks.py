"""The checks of a call's two documents, as pure functions. Above: `checker`, `check_worker`.

Below: `strict_json`, `arguments`, `result`, `schema`. They are here as jobs, which say all that
they need in bytes, so that they can be done in another process.
"""

from functools import lru_cache

from msgspec import UNSET, Raw, Struct, UnsetType

from brain.engine.tool.arguments import mismatch, read_arguments
from brain.engine.tool.mcp_result import parse_mcp_result
from brain.engine.tool.outcome import Code, Failure
from brain.engine.tool.result import parse_result
from brain.engine.tool.schema import Schema
from brain.engine.tool.strict_json import NotJson, read
from brain_core.content import ToolResult


class CheckArguments(Struct, frozen=True, tag=True):
    """Whether the model's text is an object that matches the input schema."""

    schema: bytes
    text: bytes


class CheckProgress(Struct, frozen=True, tag=True):
    """Whether the data of a progress event is JSON."""

    text: bytes


class CheckResult(Struct, frozen=True, tag=True):
    """Whether a reply is a result object, and a successful one matches the output schema."""

    schema: bytes | None
    text: bytes


class CheckMcpResult(Struct, frozen=True, tag=True):
    """Whether an MCP server's result is one, and a successful one matches the output schema."""

    schema: bytes | None
    text: bytes


Job = CheckArguments | CheckProgress | CheckResult | CheckMcpResult


class Checked(Struct, frozen=True, omit_defaults=True):
    """What a job came to: a failure, or compact JSON, or a result."""

    failure: Failure | None = None
    json: Raw | UnsetType = UNSET
    result: ToolResult | UnsetType = UNSET


def perform(job: Job) -> Checked:
    """Do one job. How long it takes depends on the schema and the document."""
    match job:
        case CheckArguments(schema, text):
            return check_arguments(compiled(schema), text)
        case CheckProgress(text):
            return check_progress(text)
        case CheckResult(schema, text):
            return check_result(None if schema is None else compiled(schema), text)
        case CheckMcpResult(schema, text):
            return check_mcp_result(None if schema is None else compiled(schema), text)


def check_arguments(schema: Schema, text: bytes) -> Checked:
    """`CheckArguments` with a schema that is compiled already."""
    document = read_arguments(text)
    if isinstance(document, Failure):
        return Checked(document)
    problems = schema.problems(document)
    return Checked(mismatch(problems)) if problems else Checked(json=document.compact)


def check_progress(text: bytes) -> Checked:
    """`CheckProgress`."""
    document = read(text)
    if isinstance(document, NotJson):
        return Checked(Failure(Code.BAD_EVENT, f"Its progress is not JSON: {document.reason}."))
    return Checked(json=document.compact)


def check_result(schema: Schema | None, text: bytes) -> Checked:
    """`CheckResult` with a schema that is compiled already."""
    result = parse_result(text, schema)
    return Checked(result) if isinstance(result, Failure) else Checked(result=result)


def check_mcp_result(schema: Schema | None, text: bytes) -> Checked:
    """`CheckMcpResult` with a schema that is compiled already."""
    result = parse_mcp_result(text, schema)
    return Checked(result) if isinstance(result, Failure) else Checked(result=result)


@lru_cache(maxsize=64)
def compiled(schema: bytes) -> Schema:
    """The schema, compiled once while it is in use."""
    return Schema(schema)
