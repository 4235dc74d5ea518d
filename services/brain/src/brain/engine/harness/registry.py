"""The harnesses by name. Above: `session`, `wiring`. Below: `pi`."""

from brain.engine.harness.pi.loop import Pi
from brain.engine.harness.protocol import Harness


def harnesses() -> dict[str, Harness]:
    """Every harness of this build, by its name."""
    return {pi.name: pi for pi in (Pi(),)}
