"""`make bench` measures what its table promises. How fast anything is, no test says."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.timeout(150)
def test_the_bench_measures_everything_that_it_prints(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    command = [sys.executable, "-m", "bench", "--quick", "--json", str(figures)]
    ran = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=False
    )

    assert ran.returncode == 0, ran.stderr
    assert "times the sum of its floors" in ran.stdout
    found: dict[str, Any] = json.loads(figures.read_text(encoding="utf-8"))
    measured = {**found["floors"], **found["alone"]}
    assert len(measured) == 7
    assert all(figure["count"] >= 5 for figure in measured.values())
    assert all(0 < figure["p50_ms"] <= figure["p99_ms"] for figure in measured.values())
    assert found["together"]["tool_turns_per_second"] > 0
    assert found["seconds_to_ready"][0] > 0


@pytest.mark.timeout(150)
def test_the_hostile_bench_measures_what_it_prints() -> None:
    command = [sys.executable, "-m", "bench.hostile", "10"]
    ran = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=False
    )

    assert ran.returncode == 0, ran.stderr
    assert "200 calls at once" in ran.stdout
    for name in ("quiet", "loaded", "ratio", "memory of the engine: before", "flooded until"):
        assert name in ran.stdout


def test_the_bench_of_models_measures_each_format_beside_its_sdk() -> None:
    command = [sys.executable, "-m", "bench.model_stream", "--quick"]
    ran = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, timeout=50, check=False
    )

    assert ran.returncode == 0, ran.stderr
    for api in ("openai-chat", "openai-responses", "anthropic-messages"):
        for name in ("Brain", "package", "bytes alone"):
            assert f"{api}, {name}" in ran.stdout


def test_the_bench_of_idle_sessions_measures_what_it_prints() -> None:
    command = [sys.executable, "-m", "bench.idle", "200"]
    ran = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, timeout=50, check=False
    )

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("once they were at rest") == 2
    assert "once all were at rest" in ran.stdout


def test_the_bench_of_readers_measures_what_it_prints() -> None:
    command = [sys.executable, "-m", "bench.readers", "50"]
    ran = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, timeout=50, check=False
    )

    assert ran.returncode == 0, ran.stderr
    for name in ("20 readers of one session", "20 sessions with a reader", "4 readers that read"):
        assert name in ran.stdout
    assert ran.stdout.count("memory of the edge") == 3
