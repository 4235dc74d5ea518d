"""How this very command is called from here, in lines to paste. Above: `welcome`, `chat`."""

import shlex
import shutil
import sys
from pathlib import Path


def brain_command(command: str, home: Path, *more: str) -> str:
    """`brain COMMAND MORE…` as it works in this folder, with `--home` if it isn't the usual one."""
    home_option = () if home == Path(".brain") else ("--home", str(home))
    return shlex.join((_brain(), command, *home_option, *more))


def _brain() -> str:
    ours = Path(sys.executable).parent / "brain"
    found = shutil.which("brain")
    if found is not None and Path(found).resolve() == ours.resolve():
        return "brain"
    return str(ours.relative_to(Path.cwd()) if ours.is_relative_to(Path.cwd()) else ours)
