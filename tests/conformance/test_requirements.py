"""Every landed requirement has a test, and every mark names a requirement.

The tests are collected by a pytest of its own, so that marks count wherever they stand: on a
function, a class, a module or a parameter.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MANIFEST = tomllib.loads((Path(__file__).parent / "requirements.toml").read_text(encoding="utf-8"))
LANDED: dict[str, str] = MANIFEST["landed"]
PLANNED: dict[str, str] = MANIFEST["planned"]
# The specification lies beside the repository where Brain is developed; users don't have it.
SPECIFICATION = TESTS.parents[1] / "shared" / "spec" / "requirements.md"


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Requirement id to the tests that carry it."""
    target = tmp_path_factory.mktemp("requirements") / "proved.json"
    options = ["--collect-only", "--quiet", "--numprocesses=0", "-p", "no:randomly"]
    collected = subprocess.run(
        [sys.executable, "-m", "pytest", *options, f"--requirements-into={target}", str(TESTS)],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert collected.returncode == 0, collected.stdout + collected.stderr
    by_test: dict[str, list[str]] = json.loads(target.read_text(encoding="utf-8"))
    by_requirement: dict[str, list[str]] = {}
    for test, ids in by_test.items():
        for id_ in ids:
            by_requirement.setdefault(id_, []).append(test)
    return by_requirement


def test_every_landed_requirement_has_a_test(proved: dict[str, list[str]]) -> None:
    without_test = {id_: promise for id_, promise in LANDED.items() if id_ not in proved}

    assert without_test == {}


def test_every_mark_names_a_requirement(proved: dict[str, list[str]]) -> None:
    unknown = {id_: tests for id_, tests in proved.items() if id_ not in LANDED | PLANNED}

    assert unknown == {}


def test_no_requirement_is_both_landed_and_planned() -> None:
    assert LANDED.keys().isdisjoint(PLANNED)


def test_the_manifest_has_the_ids_of_the_specification_where_that_is_at_hand() -> None:
    manifest = LANDED.keys() | PLANNED.keys()
    stated = (
        specified(SPECIFICATION.read_text(encoding="utf-8")) if SPECIFICATION.exists() else manifest
    )

    assert manifest == stated


def specified(text: str) -> set[str]:
    """The ids that a specification states: at the start of a list item or of a table row."""
    return set(re.findall(r"^(?:- |\| )([A-Z]+-\d\d)\b", text, re.MULTILINE))
