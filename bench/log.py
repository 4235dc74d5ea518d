"""Measure the SQLite log on this machine: its work, and the layouts that it could have.

Run it with `.venv/bin/python -m bench.log`; it takes about half a minute.
"""

import sqlite3
import sys

import uvloop

from bench.log_layouts import costs
from bench.log_work import work


def main() -> int:
    """Run once and print."""
    print(f"SQLite {sqlite3.sqlite_version}, Python {sys.version.split()[0]}\n")
    print(f"{'the log, ms':<34}{'p50':>9}{'p99':>9}")
    for name, _, meter in uvloop.run(work()):
        p50, p99 = (meter.percentile(percent) * 1000 for percent in (50, 99))
        print(f"{name:<34}{p50:>9.3f}{p99:>9.3f}")
    columns = ("body", "insert", "read", "delete", "written", "fetched", "kept")
    print(f"\n{'layout: µs and bytes an event':<34}" + "".join(f"{each:>9}" for each in columns))
    for size, layout, cost in costs():
        times = "".join(f"{each:>9.1f}" for each in cost[:3])
        sizes = "".join(f"{each:>9.0f}" for each in cost[3:])
        print(f"{layout.name:<34}{size:>9}{times}{sizes}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
