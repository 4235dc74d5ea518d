"""A tool binding: the rules for each of its fields. Above: `host`. Below: `schemas`, pydantic."""

import re
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from brain.config.schemas import check_schema

STRICT = ConfigDict(extra="forbid", strict=True, frozen=True)
MAX_TIMEOUT_SECONDS = 86_400
MAX_OUTPUT_BYTES = 2 * 1024 * 1024
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TENANT = re.compile(r"[A-Za-z0-9._-]{1,64}")
_OUTSIDE_URLS = re.compile(r"[\x00-\x20\x7f\\]")


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError(
            "must start with a letter and have up to 64 letters, digits or underscores, "
            f"for example read_file; not {value!r}"
        )
    return value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("must say something: it must not be blank")
    return value


def http_url(value: str) -> str:
    """An absolute http or https URL without credentials and fragment, as it was written.

    Raises: ValueError, which never repeats the URL: there may be a password in it.
    """
    if _OUTSIDE_URLS.search(value):
        raise ValueError("must not contain spaces, backslashes or control characters")
    try:
        url = urlsplit(value)
        port = url.port
    except ValueError:
        raise ValueError("must be a valid URL, for example http://127.0.0.1:8081/tool") from None
    known = url.scheme in ("http", "https")
    if not known or not url.hostname or port == 0 or not is_host_name(url.hostname):
        raise ValueError("must be an absolute http or https URL with a host")
    if "@" in url.netloc:
        raise ValueError("must not contain a user or password; use token_env for a credential")
    if "#" in value:
        raise ValueError("must not contain a fragment (#…)")
    return value


def is_host_name(text: str) -> bool:
    """Whether it can be looked up at all; `ü.example` can, as its ASCII form."""
    try:
        return not _OUTSIDE_URLS.search(text) and bool(text.encode("idna"))
    except UnicodeError:
        return False


def variable(value: str) -> str:
    """The name of an environment variable. Raises: ValueError."""
    if not _VARIABLE.fullmatch(value):
        raise ValueError("must be the name of an environment variable, for example BRAIN_TOOLS_KEY")
    return value


def tenant_id(value: str) -> str:
    """A tenant's id. Raises: ValueError."""
    if not _TENANT.fullmatch(value):
        raise ValueError("must have 1 to 64 letters, digits, '.', '_' or '-'")
    return value


Url = Annotated[str, AfterValidator(http_url)]
Variable = Annotated[str, AfterValidator(variable)]
TenantId = Annotated[str, AfterValidator(tenant_id)]
_Input = Annotated[dict[str, Any], AfterValidator(lambda schema: check_schema(schema, "object"))]
_Output = Annotated[dict[str, Any] | bool, AfterValidator(check_schema)]


class ToolBinding(BaseModel):
    """Where a tool is, who may use it, and how it is called. Times are in seconds."""

    model_config = STRICT

    name: Annotated[str, AfterValidator(_name)]
    description: Annotated[str, AfterValidator(_not_blank)]
    input_schema: _Input
    output_schema: _Output | None = None
    url: Url
    tenants: Annotated[list[TenantId], Field(min_length=1)]
    token_env: Variable | None = None
    timeout_seconds: Annotated[int, Field(ge=1, le=MAX_TIMEOUT_SECONDS)] = 300
    max_output_bytes: Annotated[int, Field(ge=1, le=MAX_OUTPUT_BYTES)] = 1024 * 1024
    inspect_session: bool = False
    mcp_tool: Annotated[str, StringConstraints(min_length=1, max_length=256)] | None = None
