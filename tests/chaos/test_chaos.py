"""Sessions at work while processes die: a short run of what `make chaos` does for as long as asked.

Each run ends with a check of every promise: see `brain_testing.chaos.check`.
"""

from pathlib import Path

import pytest

from brain_testing.chaos.driver import Run, play
from brain_testing.chaos.points import POINTS
from brain_testing.chaos.report import Report

pytestmark = [
    pytest.mark.requirement("REC-01", "REC-02", "API-03", "EVT-06", "TOOL-05", "TOOL-09"),
    pytest.mark.timeout(300),
]


def said(report: Report) -> str:
    """All that it found; nothing."""
    return "\n".join(report.findings)


@pytest.mark.xdist_group("chaos-points")
async def test_an_engine_that_dies_at_any_named_point_breaks_no_promise(tmp_path: Path) -> None:
    report = await play(Run(seconds=0, seed=7, clients=8, points=POINTS, folder=tmp_path))

    assert said(report) == ""
    assert sorted(report.points) == sorted(POINTS), "each point was reached, and killed an engine"


@pytest.mark.xdist_group("chaos-random")
async def test_whatever_dies_whenever_breaks_no_promise(tmp_path: Path) -> None:
    report = await play(Run(seconds=6, seed=11, folder=tmp_path))

    assert said(report) == ""
    assert report.kills
    assert report.calls
    assert report.repeats
