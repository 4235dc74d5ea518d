"""`python -m brain_testing.chaos`: a long run, and what came of it."""

import argparse
import asyncio
import random
import sys
from pathlib import Path

from brain_testing.chaos.driver import Run, play


def main() -> int:
    """Play; the exit code is 1 if anything was found to be wrong."""
    parser = argparse.ArgumentParser(prog="python -m brain_testing.chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--store", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--folder", type=Path, help="keep there what the processes leave behind")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    run = Run(given.seconds, given.seed, given.store, given.clients, folder=given.folder)
    report = asyncio.run(play(run))
    report.findings += report.late
    print(report.summary())
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
