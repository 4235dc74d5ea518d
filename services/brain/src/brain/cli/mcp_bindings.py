"""A server's tools as bindings: valid names, usable schemas. Above: `mcp`. Below: `bindings`.

Nothing that a server says is trusted: what can't be used is left out, and each change is said.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from pydantic import ValidationError

from brain.cli.plain import holds_unseen
from brain.config.bindings import ToolBinding
from brain.config.problem import as_object

Json = dict[str, Any]
MAX_SCHEMA_BYTES = 64 * 1024
MAX_DESCRIPTION = 4096
_MAX_NAME = 64
_MAX_REMOTE_NAME = 256
_SHOWN = 80


class _Tool(Struct, frozen=True, rename="camel"):
    name: str
    input_schema: Raw
    title: str | None = None
    description: str | None = None
    output_schema: Raw | UnsetType = UNSET


@dataclass
class Bindings:
    """`made` are the bindings, `notes` the sentences about what was changed or left out.

    `left_out` are the remote names of the tools for which there is none; `unreadable` says whether
    there are some of which not even the name is known.
    """

    made: list[Json] = field(default_factory=list[Json])
    notes: list[str] = field(default_factory=list[str])
    left_out: set[str] = field(default_factory=set[str])
    unreadable: bool = False


class Wanted(Struct, frozen=True, kw_only=True):
    """What the bindings are to say.

    `names` are those that remote tools have already; `taken` are no longer free.
    """

    url: str
    tenants: Sequence[str]
    token_env: str | None = None
    prefix: str = ""
    names: Mapping[str, str] = {}
    taken: frozenset[str] = frozenset()


def bindings_of(tools: Sequence[Raw], wanted: Wanted) -> Bindings:
    """A binding for each tool that can have one."""
    found = Bindings()
    used = {*wanted.taken, *wanted.names.values()}
    seen: set[str] = set()
    for index, raw in enumerate(tools):
        tool = _read(raw)
        if isinstance(tool, str):
            found.unreadable = True
            found.notes.append(f"Left out the tool at place {index + 1}: {tool}.")
            continue
        problem = _problem(tool, seen) or _add(found, tool, wanted, used)
        seen.add(tool.name)
        if problem is not None:
            found.left_out.add(tool.name)
            found.notes.append(f"Left out {shown(tool.name)}: {problem}.")
    return found


def _add(found: Bindings, tool: _Tool, wanted: Wanted, used: set[str]) -> str | None:
    """Make a tool's binding, or say why it can't be one."""
    known = wanted.names.get(tool.name)
    name = known or _free(wanted.prefix, tool.name, used)
    notes: list[str] = []
    binding = _binding(tool, name, notes)
    binding |= {"url": wanted.url, "mcp_tool": tool.name, "tenants": list(wanted.tenants)}
    if wanted.token_env is not None:
        binding["token_env"] = wanted.token_env
    wrong = _wrong(binding)
    if wrong is None:
        used.add(name)
        if known is None and name != wanted.prefix + tool.name:
            notes.append(f"{shown(tool.name)} is called {name} here.")
        found.notes += notes
        found.made.append(binding)
    return wrong


def shown(name: str) -> str:
    """A name that a server chose, as it can be printed."""
    quoted = ascii(name[:_SHOWN])
    return quoted if len(name) <= _SHOWN else f"{quoted}…"


def _read(raw: Raw) -> _Tool | str:
    try:
        return msgspec.json.decode(raw, type=_Tool)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return f"it is not a tool: {str(error)[:200]}"


def _problem(tool: _Tool, seen: set[str]) -> str | None:
    if tool.name in seen:
        return "the server lists it twice"
    if not 1 <= len(tool.name) <= _MAX_REMOTE_NAME:
        return f"its name must have 1 to {_MAX_REMOTE_NAME} characters"
    for kind, schema in (("input", tool.input_schema), ("output", tool.output_schema)):
        if not isinstance(schema, Raw):
            continue
        if len(bytes(schema)) > MAX_SCHEMA_BYTES:
            return f"its {kind} schema has {len(bytes(schema))} bytes, at most {MAX_SCHEMA_BYTES}"
        try:
            msgspec.json.decode(schema)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            return f"its {kind} schema can't be read: {str(error)[:200]}"
    return None


def _binding(tool: _Tool, name: str, notes: list[str]) -> Json:
    description = (tool.description or tool.title or "").strip()
    if not description:
        description = f"The tool {tool.name} of an MCP server."
        notes.append(f"{shown(tool.name)} has no description: write one for the model.")
    if len(description) > MAX_DESCRIPTION:
        description = description[: MAX_DESCRIPTION - 1] + "…"
        notes.append(f"Cut the description of {shown(tool.name)} to {MAX_DESCRIPTION} characters.")
    if holds_unseen(description):
        notes.append(f"The description of {shown(tool.name)} holds characters that aren't seen.")
    binding: Json = {
        "name": name,
        "description": description,
        "input_schema": msgspec.json.decode(tool.input_schema),
    }
    if isinstance(tool.output_schema, Raw) and bytes(tool.output_schema) != b"null":
        binding["output_schema"] = msgspec.json.decode(tool.output_schema)
    return binding


def _wrong(binding: Json) -> str | None:
    """Why the host config would not take it."""
    schema = as_object(binding["input_schema"])
    if schema is None or schema.get("type") != "object":
        return "its input schema isn't that of an object"
    try:
        ToolBinding.model_validate(binding)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"][:1]))
        return f"its {where} {first['msg'].removeprefix('Value error, ')[:300]}"
    return None


def _free(prefix: str, remote: str, used: set[str]) -> str:
    """A valid name that nothing else has."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", prefix + remote)
    if not re.match(r"[A-Za-z]", name):
        name = f"t_{name}"
    name = name[:_MAX_NAME]
    free, number = name, 2
    while free in used:
        suffix = f"_{number}"
        free = name[: _MAX_NAME - len(suffix)] + suffix
        number += 1
    return free
