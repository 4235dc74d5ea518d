"""Say which modules and functions are too long to be read at once. Run by `make lint`."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

MODULE_LINES = 400
FUNCTION_LINES = 40
GENERATED = "libs/brainapi/src/brainapi/"


def main() -> int:
    """Print each module and function over its limit; 1 if there is one."""
    problems = [problem for path in modules() for problem in too_long(path)]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


def modules() -> Iterator[Path]:
    """The workspace's own Python files, committed or about to be."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for name in sorted(set(listed.splitlines())):
        path = Path(name)
        if not name.startswith(GENERATED) and path.is_file():
            yield path


def too_long(path: Path) -> Iterator[str]:
    """One line for each thing in this module that is over its limit."""
    source = path.read_text(encoding="utf-8")
    lines = source.count("\n")
    if lines > MODULE_LINES:
        yield f"{path}: {lines} lines, over {MODULE_LINES}: probably two modules"
    for node in ast.walk(ast.parse(source, str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield f"{path}:{node.lineno}: {node.name} has {length} lines, over {FUNCTION_LINES}"


if __name__ == "__main__":
    sys.exit(main())
