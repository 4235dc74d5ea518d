"""The public JSON Schema test suite, draft 2020-12 with `format`, through Brain's own validator.

Every group runs; where Brain means to differ, the difference is listed here with its reason and
is checked just as well.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from brain.engine.tool.schema import BadSchema, Schema
from brain.engine.tool.strict_json import Document, read

pytestmark = pytest.mark.requirement("TOOL-02", "CONF-06")

SUITE = Path(__file__).parent / "json_schema_suite" / "draft2020-12"

# A schema that refers to another document is refused when Brain starts; nothing is ever fetched.
# That also holds for a meta-schema of one's own, which would have to be fetched like any other.
LEAVES_THE_DOCUMENT = {
    "dynamicRef.json": {
        "strict-tree schema, guards against misspelled properties",
        "tests for implementation dynamic anchor and reference link",
        "$ref and $dynamicAnchor are independent of order - $defs first",
        "$ref and $dynamicAnchor are independent of order - $ref first",
        "$ref to $dynamicRef finds detached $dynamicAnchor",
    },
    "optional/cross-draft.json": {"refs to historic drafts are processed as historic drafts"},
    "optional/format-assertion.json": {
        "schema that uses custom metaschema with format-assertion: false",
        "schema that uses custom metaschema with format-assertion: true",
    },
    "refRemote.json": {
        "remote ref",
        "fragment within remote ref",
        "anchor within remote ref",
        "ref within remote ref",
        "base URI change",
        "base URI change - change folder",
        "base URI change - change folder in subschema",
        "root ref in remote ref",
        "remote ref with ref to defs",
        "Location-independent identifier in remote ref",
        "retrieved nested refs resolve relative to their URI not $id",
        "remote HTTP ref with different $id",
        "remote HTTP ref with different URN $id",
        "remote HTTP ref with nested absolute ref",
        "$ref to $ref finds detached $anchor",
    },
    "vocabulary.json": {
        "schema that uses custom metaschema with with no validation vocabulary",
        "ignore unrecognized optional vocabulary",
    },
}

# The draft takes `format` for a remark unless asked to check it; Brain always checks it.
ONLY_AN_ANNOTATION = "is only an annotation by default"


def groups() -> list[Any]:
    """One parameter for each group of tests: its file, and what the file says."""
    return [
        pytest.param(name, group, id=f"{name}: {group['description']}")
        for file in sorted(SUITE.rglob("*.json"))
        for name in [file.relative_to(SUITE).as_posix()]
        for group in json.loads(file.read_text())
    ]


@pytest.mark.parametrize(("file", "group"), groups())
def test_the_validator_agrees_with_the_suite(file: str, group: dict[str, Any]) -> None:
    text = json.dumps(group["schema"]).encode()
    if group["description"] in LEAVES_THE_DOCUMENT.get(file, ()):
        with pytest.raises(BadSchema):
            Schema(text)
        return
    schema = Schema(text)
    for test in group["tests"]:
        document = read(json.dumps(test["data"]).encode())
        assert isinstance(document, Document)
        assert (schema.problems(document) == ()) is is_valid(file, test), test["description"]


def is_valid(file: str, test: dict[str, Any]) -> bool:
    """What the suite expects, but for the one thing in which Brain is stricter by intent."""
    if file == "format.json" and ONLY_AN_ANNOTATION in test["description"]:
        return False
    return test["valid"]


def test_every_exception_is_one_of_the_suites_groups() -> None:
    described = {(file, group["description"]) for file, group in map(values, groups())}
    listed = {(file, name) for file, names in LEAVES_THE_DOCUMENT.items() for name in names}
    assert listed <= described


def values(parameter: Any) -> tuple[str, dict[str, Any]]:
    return parameter.values
