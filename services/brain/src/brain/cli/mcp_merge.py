"""What a server offers now, put into a host config. Above: `mcp`. Below: files.

Schemas follow the server. What an operator may have changed in a binding stays as it is: its name,
its description, who may use it, its limits.
"""

import contextlib
import difflib
import json
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brain.cli.mcp_bindings import Bindings, shown
from brain.cli.plain import shown_json
from brain.config.document import read
from brain.config.problem import Problem, as_list, as_object

Json = dict[str, Any]
_SCHEMAS = ("input_schema", "output_schema")


class CannotMerge(Exception):
    """The file can't be used; the message is one clear line."""


@dataclass
class HostFile:
    """A host config, as it stands."""

    path: Path
    text: str
    document: Json

    def names(self, url: str) -> dict[str, str]:
        """The tools of this server that it has already: the name of each by its remote name."""
        return {tool["mcp_tool"]: tool["name"] for tool in self._of(url)}

    def taken(self, url: str) -> frozenset[str]:
        """The names of all other tools."""
        others = (tool for tool in self._tools() if self._remote(tool, url) is None)
        return frozenset(str(tool.get("name")) for tool in others)

    def merged(self, url: str, found: Bindings, *, complete: bool) -> list[str]:
        """Take over what the server offers; a sentence for each difference."""
        offered = {binding["mcp_tool"]: binding for binding in found.made}
        new = dict(offered)
        said: list[str] = []
        kept: list[Any] = []
        for tool in as_list(self.document.get("tools")):
            remote = self._remote(tool, url)
            if remote is None:
                kept.append(tool)
            elif remote in offered:
                # There may be several bindings of one tool: for other tenants, with other limits.
                said += _updated(tool, offered[remote])
                new.pop(remote, None)
                kept.append(tool)
            elif remote in found.left_out or not complete:
                kept.append(tool)
            else:
                said.append(f"{tool['name']}: the server has {shown(remote)} no more.")
        said += [f"{binding['name']}: new." for binding in new.values()]
        self.document["tools"] = [*kept, *new.values()]
        return said

    def difference(self) -> str:
        """The file before and after, as a unified diff; empty if nothing has changed."""
        before, after = self.text.splitlines(), self._written().splitlines()
        if json.loads(self.text) == self.document:
            return ""
        name = self.path.name
        return "\n".join(difflib.unified_diff(before, after, name, name, lineterm="")) + "\n"

    def write(self) -> None:
        """Put the new content in the file's place. Raises: CannotMerge."""
        path = self.path.resolve()
        try:
            mode = path.stat().st_mode
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(self._written())
                    file.flush()
                    os.fsync(handle)
                os.chmod(temporary, mode)  # noqa: PTH101 (the file has a name only as text)
                os.replace(temporary, path)  # noqa: PTH105
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)  # noqa: PTH108
                raise
        except OSError as error:
            raise CannotMerge(f"{self.path} can't be written: {error.strerror}.") from error

    def _written(self) -> str:
        indent = re.search(r"^([ \t]+)\S", self.text, re.MULTILINE)
        return shown_json(self.document, indent[1] if indent else 2) + "\n"

    def _tools(self) -> Iterator[Json]:
        for tool in as_list(self.document.get("tools")):
            found = as_object(tool)
            if found is not None:
                yield found

    def _of(self, url: str) -> Iterator[Json]:
        return (tool for tool in self._tools() if self._remote(tool, url) is not None)

    def _remote(self, tool: object, url: str) -> str | None:
        """The remote name of a tool of this server."""
        found = as_object(tool)
        if found is None or found.get("url") != url or not isinstance(found.get("name"), str):
            return None
        remote = found.get("mcp_tool")
        return remote if isinstance(remote, str) else None


def host_file(path: Path) -> HostFile:
    """The host config in a file. Raises: CannotMerge."""
    document = read(path)
    if isinstance(document, Problem):
        raise CannotMerge(f"{path}: {document}")
    found = as_object(document)
    if found is None or not isinstance(found.get("tools", []), list):
        raise CannotMerge(f"{path} must be a JSON object, with a list of tools if it has any.")
    return HostFile(path, path.read_text(encoding="utf-8-sig"), found)


def _updated(tool: Json, offered: Json) -> list[str]:
    """Give a binding the schemas that the server has now; what is different from before."""
    said: list[str] = []
    for key in _SCHEMAS:
        if tool.get(key) != offered.get(key):
            said.append(f"{tool['name']}: its {key} has changed on the server.")
            if key in offered:
                tool[key] = offered[key]
            else:
                tool.pop(key, None)
    if tool.get("description") != offered["description"]:
        said.append(f"{tool['name']}: the server describes it otherwise; yours is kept.")
    return said
