"""Check that each package declares what it imports, and imports what it declares.

An undeclared import works only as long as another package brings the module along; a dependency
that nothing imports is installed for nothing. Run by `make lint`.
"""

import ast
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def main() -> int:
    """Print each difference; 1 if there is one."""
    projects = sorted(
        [*Path("libs").glob("*/pyproject.toml"), *Path("services").glob("*/pyproject.toml")]
    )
    owners = distributions(projects)
    problems = [problem for project in projects for problem in differences(project, owners)]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


def distributions(projects: list[Path]) -> dict[str, set[str]]:
    """Which distributions hold a module: the installed ones, and the workspace's own."""
    owners: dict[str, set[str]] = {
        module: {canonicalize_name(name) for name in names}
        for module, names in packages_distributions().items()
    }
    for project in projects:
        for package in (project.parent / "src").iterdir():
            owners[package.name] = {name_of(project)}
    return owners


def differences(project: Path, owners: Mapping[str, set[str]]) -> Iterator[str]:
    """One line for each dependency of this project that is undeclared or unused."""
    table = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    always = names_in(table["dependencies"])
    optional: dict[str, list[str]] = table.get("optional-dependencies", {})
    extras = names_in([line for lines in optional.values() for line in lines])
    used: set[str] = {name_of(project)}
    for module in sorted(imported(project.parent / "src")):
        holders = owners.get(module, set())
        used |= holders
        if holders and not holders & {*always, *extras, name_of(project)}:
            yield f"{project}: imports {module}, but declares none of {', '.join(sorted(holders))}"
    for name in sorted(always - used):
        yield f"{project}: declares {name}, but imports nothing of it"


def names_in(requirements: list[str]) -> set[str]:
    """The names of the distributions that these requirements ask for."""
    return {canonicalize_name(Requirement(line).name) for line in requirements}


def imported(source: Path) -> set[str]:
    """The top-level modules that the Python files below `source` import."""
    found: set[str] = set()
    for path in source.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
    return found


def name_of(project: Path) -> str:
    """The distribution's name, as this `pyproject.toml` says."""
    name: str = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["name"]
    return canonicalize_name(name)


if __name__ == "__main__":
    sys.exit(main())
