"""Prints the table: each case, and what it comes to. `python -m brain_testing.tool_cases`"""

import sys

from brain_testing.tool_cases import ALL_CASES, Case


def outcome(case: Case) -> str:
    """What the call comes to, in a few words."""
    expect = case.expect
    if expect.code is None:
        return "the tool's error" if expect.is_error else "the tool's result"
    return f"{expect.code}, {'outcome unknown' if expect.unknown_outcome else 'nothing happened'}"


def main() -> None:
    """Print one case a line, family by family."""
    family = ""
    for case in ALL_CASES:
        of, _, name = case.name.partition(": ")
        heading = "" if of == family else f"\n{of}\n"
        family = of
        sys.stdout.write(f"{heading}  {name:<75} {outcome(case)}\n")


if __name__ == "__main__":
    main()
