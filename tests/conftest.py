"""What every test folder shares: a list of the requirements that the collected tests prove.

Below: pytest. The fixtures of a running Brain come from the plugin `brain_testing`.
"""

import json
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--requirements-into",
        type=Path,
        metavar="FILE",
        help="write what the collected tests prove: a JSON object of test id to requirement ids",
    )


def pytest_collection_finish(session: pytest.Session) -> None:
    target: Path | None = session.config.getoption("--requirements-into")
    if target is not None:
        proved = {item.nodeid: _requirements(item) for item in session.items}
        target.write_text(json.dumps(proved), encoding="utf-8")


def _requirements(item: pytest.Item) -> list[str]:
    return [str(id_) for mark in item.iter_markers("requirement") for id_ in mark.args]
