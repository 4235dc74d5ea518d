"""The tools that read, write and list files. Above: `service`. Below: `pool`, `inside`.

Where a path leads is decided by a script in the sandbox, which can reach nothing else anyway.
"""

import base64
import mimetypes
from datetime import UTC, datetime
from typing import Annotated, Any

from msgspec import Meta, Struct

from sandbox.failures import told
from sandbox.scripts import answer, feed
from sandbox.tools import Sandboxes, key_of, noted
from sandbox.tools.arguments import Encoding, Path, check_text, data_of
from sandbox.transcript import readable
from tool_service import Call, Image, Result

MOST_OUTPUT_BYTES = 2 * 1024 * 1024
_TEXT_BYTES = 100 * 1024
_IMAGE_BYTES = 1_400_000  # in base64 it fits into what Brain takes
_MOST_ENTRIES = 1000
_KINDS = {"f": "file", "d": "folder", "l": "link"}

LIST: dict[str, Any] = {
    "type": "object",
    "properties": {
        "entries": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "type": {"enum": ["file", "folder", "link", "other"]},
                    "size": {"type": "integer", "minimum": 0},
                    "mode": {"type": "string"},
                    "modified": {"type": "string", "format": "date-time"},
                    "target": {"type": "string"},
                },
                "required": ["path", "type", "size", "mode", "modified"],
                "additionalProperties": False,
            },
        },
        "truncated": {"type": "boolean"},
    },
    "required": ["entries", "truncated"],
    "additionalProperties": False,
}

Line = Annotated[int, Meta(ge=1, le=1_000_000_000, description="The first line to read.")]
Lines = Annotated[int, Meta(ge=1, le=100_000, description="How many lines to read.")]
Content = Annotated[str, Meta(description="What the file is to hold.")]
Mode = Annotated[
    str, Meta(pattern="^[0-7]{3}$", description="Its mode, such as 755; without it, as it was.")
]
Depth = Annotated[int, Meta(ge=1, le=10, description="How many levels of folders to list.")]


class _File(Struct, frozen=True):
    """What the script says of a file. `content` is of the lines asked for, or of an image."""

    size: int
    mode: str
    kind: str
    beginning: bytes
    content: bytes


async def sandbox_read_file(
    path: Path, call: Call, sandboxes: Sandboxes, start_line: Line = 1, line_count: Lines = 2000
) -> Result:
    """A file's text, by lines; an image; or what else it is. Raises: ToolError."""
    check_text(path, "path")
    await call.progress({"status": "reading"})
    values = {
        "NAME": path,
        "START": str(start_line),
        "COUNT": str(line_count),
        "MOST": str(_TEXT_BYTES + 1),
        "IMAGE": str(_IMAGE_BYTES),
    }
    with told("the file was being read", changes=False):
        said, note = await sandboxes.pool.use(
            key_of(call), lambda sandbox: answer(sandboxes.provider, sandbox, "read.sh", values)
        )
    file = _file(said)
    if file.kind.startswith("image/") and file.content:
        text = noted(note, f"{path}: {file.kind}, {file.size} bytes.")
        return Result(text=text, images=(Image(file.content, file.kind),))
    if file.kind == "other" and _is_text(file.beginning):
        return Result(text=noted(note, _lines(file, path, start_line, line_count)))
    return Result(text=noted(note, _not_shown(file, path)))


async def sandbox_write_file(
    path: Path,
    content: Content,
    call: Call,
    sandboxes: Sandboxes,
    encoding: Encoding = "text",
    mode: Mode | None = None,
) -> Result:
    """Write a file whole, with the folders it needs. Raises: ToolError, UnknownOutcome."""
    check_text(path, "path")
    data = data_of(content, encoding, "content")
    await call.progress({"status": "writing"})
    values = {"NAME": path, "MODE": mode or "", "SIZE": str(len(data))}

    async def write(sandbox: str) -> None:
        given = await feed(sandboxes.provider, sandbox, data)
        await answer(sandboxes.provider, sandbox, "write.sh", values, given)

    with told("the file was being written"):
        _, note = await sandboxes.pool.use(key_of(call), write)
    return Result(text=noted(note, f"Wrote {len(data)} bytes to {path}."))


async def sandbox_list_files(
    call: Call, sandboxes: Sandboxes, path: Path = ".", depth: Depth = 1
) -> Result:
    """What is in a folder, by path. Raises: ToolError."""
    check_text(path, "path")
    await call.progress({"status": "listing"})
    values = {"NAME": path, "DEPTH": str(depth), "MOST": str(_MOST_ENTRIES + 1)}
    with told("the folder was being listed", changes=False):
        said, note = await sandboxes.pool.use(
            key_of(call), lambda sandbox: answer(sandboxes.provider, sandbox, "list.sh", values)
        )
    found = base64.b64decode(said).split(b"\0")[:-1]
    entries = sorted(map(_entry, found[:_MOST_ENTRIES]), key=lambda entry: entry["path"])
    truncated = len(found) > _MOST_ENTRIES
    text = "\n".join(map(_line, entries)) or "The folder is empty."
    if truncated:
        text += f"\nThere are more than {_MOST_ENTRIES}; list a folder further down."
    return Result(text=noted(note, text), structured={"entries": entries, "truncated": truncated})


async def sandbox_stop(call: Call, sandboxes: Sandboxes) -> str:
    """End the session's sandbox. Raises: ToolError, UnknownOutcome."""
    await call.progress({"status": "stopping"})
    with told("the sandbox was being ended"):
        ended = await sandboxes.pool.end(key_of(call))
    return "The sandbox was ended, with its files." if ended else "There is no sandbox to end."


def _file(said: bytes) -> _File:
    first, beginning, *content = said.decode("ascii").split("\n")
    size, mode, kind = first.split(" ")
    return _File(
        int(size), mode, kind, base64.b64decode(beginning), base64.b64decode("".join(content))
    )


def _is_text(beginning: bytes) -> bool:
    try:
        beginning.decode()
    except UnicodeDecodeError as error:
        if error.start < len(beginning) - 3:  # a character that is only cut off is fine
            return False
    return b"\0" not in beginning


def _lines(file: _File, path: str, start: int, count: int) -> str:
    """The lines, and a word on what of the file isn't among them."""
    if file.size == 0:
        return f"[{path} is empty.]"
    if not file.content:
        return f"[{path} has fewer than {start} lines.]"
    text = readable(file.content[:_TEXT_BYTES])
    if len(file.content) > _TEXT_BYTES:
        shown = text.rpartition("\n")[0] or text
        following = start + shown.count("\n") + 1
        return f"{shown}\n[Cut after {_TEXT_BYTES} bytes; go on with start_line {following}.]"
    if text.count("\n") >= count:
        return f"{text}[{count} lines of {path}; go on with start_line {start + count}.]"
    return text


def _not_shown(file: _File, path: str) -> str:
    kind = file.kind if file.kind != "other" else mimetypes.guess_type(path)[0]
    beginning = file.beginning[:16].hex(" ")
    return (
        f"{path} isn't shown: {file.size} bytes of {kind or 'application/octet-stream'}, "
        f"beginning with {beginning}."
    )


def _entry(record: bytes) -> dict[str, Any]:
    kind, size, mode, modified, path, target = readable(record).split("\t", 5)
    seconds = min(max(float(modified), 0.0), 253_402_300_799.0)
    entry: dict[str, Any] = {
        "path": path,
        "type": _KINDS.get(kind, "other"),
        "size": int(size),
        "mode": mode.zfill(3),
        "modified": datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds"),
    }
    return {**entry, "target": target} if target else entry


def _line(entry: dict[str, Any]) -> str:
    path = entry["path"] + ("/" if entry["type"] == "folder" else "")
    arrow = f" -> {entry['target']}" if "target" in entry else ""
    return f"{entry['mode']} {entry['size']:>10} {entry['modified']} {path}{arrow}"
