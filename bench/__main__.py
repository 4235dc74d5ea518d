"""Measure Brain on this machine, on loopback only, in under a minute. Above: `make bench`."""

import argparse
import asyncio
import json
import signal
import sys
from pathlib import Path

import uvloop

from bench.lean_http import HttpError
from bench.measure import run
from bench.plan import FULL, QUICK, Plan
from bench.processes import DidNotStart
from bench.report import document, table
from bench.result import Result


def main() -> int:
    """Run once and print; 1 if Brain did not start or answered wrongly."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument("--quick", action="store_true", help="only try that everything is measured")
    arguments = parser.parse_args()
    plan = QUICK if arguments.quick else FULL
    try:
        result = uvloop.run(_stopping_cleanly(plan))
    except (DidNotStart, HttpError, TimeoutError) as error:
        print(f"bench: {error or 'Brain took too long to answer'}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, asyncio.CancelledError):
        return 130
    print(table(plan, result))
    if arguments.json:
        text = json.dumps(document(plan, result), indent=2)
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return 0


async def _stopping_cleanly(plan: Plan) -> Result:
    # SIGTERM unwinds the run, as Ctrl-C does, so that everything it started is stopped.
    running = asyncio.create_task(run(plan))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
    return await running


if __name__ == "__main__":
    sys.exit(main())
