"""Check, without the network, that the lock files hold what the projects ask for.

Every direct dependency must be pinned at a version that its project accepts, and run.txt must be a
part of dev.txt. Run by `make lint`.
"""

import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

LOCKS = Path("requirements")
TEST_ONLY = Path("libs/brain_testing/pyproject.toml")

Pins = dict[str, str]


def main() -> int:
    """Print what the locks lack; 1 if they lack anything."""
    run, dev = pins(LOCKS / "run.txt"), pins(LOCKS / "dev.txt")
    projects = sorted(
        [*Path("libs").glob("*/pyproject.toml"), *Path("services").glob("*/pyproject.toml")]
    )
    runtime = [project for project in projects if project != TEST_ONLY]
    problems = [
        *(
            f"requirements/run.txt: {name} is {pin}, not as in dev.txt"
            for name, pin in run.items()
            if dev.get(name) != pin
        ),
        *missing("run.txt", run, wanted(runtime, [LOCKS / "run.in"])),
        *missing("dev.txt", dev, wanted(projects, [LOCKS / "run.in", LOCKS / "dev.in"])),
        *missing("uv.txt", pins(LOCKS / "uv.txt"), wanted([], [LOCKS / "uv.in"])),
    ]
    if problems:
        print("\n".join([*problems, "make lock pins the dependencies anew."]))
    return 1 if problems else 0


def pins(lock: Path) -> Pins:
    """What a lock file pins: canonical name to version."""
    found: Pins = {}
    for line in lock.read_text(encoding="utf-8").splitlines():
        name, pinned, rest = line.partition("==")
        if pinned and not line.startswith((" ", "#")):
            found[canonicalize_name(name)] = rest.split()[0]
    return found


def wanted(projects: Sequence[Path], inputs: Sequence[Path]) -> Iterator[Requirement]:
    """The direct dependencies of these projects and `.in` files, but for our own packages."""
    tables = [tomllib.loads(path.read_text(encoding="utf-8"))["project"] for path in projects]
    ours = {canonicalize_name(table["name"]) for table in tables}
    lines = [line for table in tables for line in table["dependencies"]]
    lines += [line for path in inputs for line in path.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        if line.strip() and not line.startswith("#"):
            requirement = Requirement(line)
            if canonicalize_name(requirement.name) not in ours:
                yield requirement


def missing(lock: str, pinned: Pins, requirements: Iterator[Requirement]) -> Iterator[str]:
    """One line for each requirement that this lock does not meet."""
    for requirement in requirements:
        version = pinned.get(canonicalize_name(requirement.name))
        if version is None:
            yield f"requirements/{lock}: {requirement.name} is not pinned"
        elif Version(version) not in requirement.specifier:
            asked = requirement.specifier
            yield f"requirements/{lock}: {requirement.name} is {version}, not {asked}"


if __name__ == "__main__":
    sys.exit(main())
