"""Find what a repository must not hold: index addresses, machine paths, secrets.

Run by `make lint`.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

# Written with brackets, so that this file does not match itself.
FORBIDDEN = {
    "the address of a package index": r"(?i)pypi[.](org|io)|pythonhosted[.]org|registry[.]npmjs[.]",
    "an index option": r"^--?(i |index-url|extra-index-url|find-links|trusted-host)",
    # The homes in E2B's and Daytona's sandboxes are no machine's.
    "a path of one machine": r"(?<![\w.$}/-])/(?!home/(user|daytona)\b)"
    r"(root|work|Users|home)/[A-Za-z0-9]",
    "a private key": r"BEGIN [A-Z ]*PRIVATE[ ]KEY",
    "an API key": r"\b(sk-[A-Za-z0-9_-]{20,}|ghp_[A-Za-z0-9]{30,}|AKIA[0-9A-Z]{16})\b",
}


def main() -> int:
    """Print each line that must not be there; 1 if there is one."""
    problems = [problem for name in tracked() for problem in leaks(name)]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


def tracked() -> list[str]:
    """Every file in git's index, as it is in the work tree."""
    listed = subprocess.run(["git", "ls-files", "-z"], check=True, capture_output=True, text=True)
    return listed.stdout.split("\0")[:-1]


def leaks(name: str) -> Iterator[str]:
    """One line for each leak in this file; binary and deleted files have none."""
    try:
        lines = Path(name).read_text(encoding="utf-8").splitlines()
    except (UnicodeDecodeError, FileNotFoundError):
        return
    for number, line in enumerate(lines, start=1):
        for what, pattern in FORBIDDEN.items():
            if re.search(pattern, line):
                yield f"{name}:{number}: {what}"


if __name__ == "__main__":
    sys.exit(main())
