"""Measure Brain on this machine, on loopback only, in under a minute. Above: `make bench`."""

import argparse
import json
import sys
from pathlib import Path

import uvloop

from bench.lean_http import HttpError
from bench.measure import run
from bench.processes import DidNotStart
from bench.report import document, table


def main() -> int:
    """Run once and print; 1 if Brain did not start or answered wrongly."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    arguments = parser.parse_args()
    try:
        result = uvloop.run(run())
    except (DidNotStart, HttpError) as error:
        print(error, file=sys.stderr)
        return 1
    print(table(result))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(document(result), indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
