"""The check of a document that a test writes."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from brain.config.check import check
from brain_testing.host_config import ENV, Checker, Outcome


@pytest.fixture
def checked(tmp_path: Path) -> Checker:
    def run(document: object, env: Mapping[str, str] = ENV) -> Outcome:
        path = tmp_path / "brain.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return check(path, env)

    return run
