"""An engine process of the drivers: the product's, with a model of theirs, a witness and a trap.

Above: `world`. Its arguments are its config, and the files of the witness and the trap.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import uvloop

from brain.config.check import CheckedConfig, check
from brain.wiring import StartError, Tuning, running_engine
from brain_core.clock import SystemClock
from brain_testing.chaos.plans import PlanModel
from brain_testing.chaos.points import Trap, trapped
from brain_testing.chaos.witness import Witness, witnessed
from brain_testing.scripted_model import Known

WINDOW = Known(tokens=2_400, price=0.001)
"""So small that a long session is compacted again and again."""
_HASTE = 20
NOT_STARTED = 3
"""The exit code of an engine that finds no store that it can use."""


class HastyClock:
    """The machine's clock, but nobody sleeps for long: not before a retry either."""

    def __init__(self) -> None:
        self._clock = SystemClock()

    def now(self) -> datetime:
        return self._clock.now()

    def monotonic(self) -> float:
        return self._clock.monotonic()

    async def sleep(self, seconds: float) -> None:
        # What is short is a limit on something; what waits for a retry is 2 s and more.
        await asyncio.sleep(seconds / _HASTE if 1 < seconds < 20 else seconds)


async def _serve(config: Path, witness: Witness, trap: Trap) -> None:
    checked = check(config, os.environ)
    if not isinstance(checked, CheckedConfig):
        raise SystemExit("\n".join(map(str, checked)))
    tuning = Tuning(
        clock=HastyClock(),
        models={"chaos": PlanModel()},
        known=WINDOW,
        rest_after_seconds=1.0,
        around_log=lambda log: trapped(witnessed(log, witness), trap),
    )
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    async with running_engine(checked, tuning=tuning):
        await stopped.wait()


def main(arguments: Sequence[str]) -> None:
    """Serve until SIGTERM, or until a point is reached."""
    config, witness, trap = map(Path, arguments)
    try:
        uvloop.run(_serve(config, Witness(witness), Trap(trap)))
    except StartError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(NOT_STARTED)
