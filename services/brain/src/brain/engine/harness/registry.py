"""The harnesses by name. Above: `session`, `wiring`. Below: `pi`."""

from brain.engine.harness.pi.loop import Pi
from brain.engine.harness.protocol import Harness, KnownModels
from brain_core.clock import Clock


def harnesses(known: KnownModels, clock: Clock) -> dict[str, Harness]:
    """Every harness of this build, by its name."""
    return {pi.name: pi for pi in (Pi(known, clock),)}
