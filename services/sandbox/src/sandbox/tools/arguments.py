"""The arguments that several tools share. Above: `run`, `jobs`, `files`. Below: `tool_service`."""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta

from tool_service import ToolError

Command = Annotated[
    str, Meta(min_length=1, max_length=65_536, description="What to run, as bash understands it.")
]
Folder = Annotated[
    str,
    Meta(max_length=4096, description="The folder to run it in, relative to the workspace."),
]
Environment = Annotated[
    dict[str, str],
    Meta(max_length=100, description="Environment variables to add."),
]
Path = Annotated[
    str,
    Meta(min_length=1, max_length=4096, description="A path, relative to the workspace."),
]
Encoding = Literal["text", "base64"]

_COMMAND_BYTES = 48 * 1024
_ENVIRONMENT_BYTES = 16 * 1024
_NAME = re.compile(r"(?!BRAIN_)[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_DATA_BYTES = 4 * 1024 * 1024


def check_command(command: str, cwd: str, env: Mapping[str, str]) -> None:
    """Refuse what no shell could be given. Raises: ToolError."""
    check_text(command, "command")
    check_text(cwd, "cwd")
    if _size(command) > _COMMAND_BYTES:
        raise ToolError(
            f"The command has {_size(command)} bytes; it may have {_COMMAND_BYTES}. Write it to a "
            "file with sandbox_write_file, and run that."
        )
    for name, value in env.items():
        if not _NAME.fullmatch(name):
            raise ToolError(
                f"{name[:60]!r} can't be the name of a variable: letters, digits and underscores, "
                "and not BRAIN_ at the beginning."
            )
        check_text(value, f"env.{name}")
    if sum(_size(name) + _size(value) for name, value in env.items()) > _ENVIRONMENT_BYTES:
        raise ToolError(f"env may have {_ENVIRONMENT_BYTES} bytes in all.")


def check_text(text: str, argument: str) -> None:
    """Refuse what can't be passed to a process. Raises: ToolError."""
    if "\0" in text:
        raise ToolError(f"{argument} has a NUL character, which no process can be given.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ToolError(f"{argument} has half a surrogate pair, which is no text.") from None


def data_of(content: str, encoding: Encoding, argument: str) -> bytes:
    """The bytes that an argument stands for. Raises: ToolError."""
    try:
        data = content.encode() if encoding == "text" else base64.b64decode(content, validate=True)
    except UnicodeEncodeError:
        raise ToolError(f"{argument} has half a surrogate pair, which is no text.") from None
    except (binascii.Error, ValueError):
        raise ToolError(f"{argument} isn't base64.") from None
    if len(data) > _DATA_BYTES:
        raise ToolError(f"{argument} has {len(data)} bytes; it may have {_DATA_BYTES}.")
    return data


def _size(text: str) -> int:
    return len(text.encode(errors="replace"))
