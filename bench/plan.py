"""How often and how long each thing is measured. Above: `__main__`, `measure`, `report`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """The size of a run. The floors and Brain take turns in rounds."""

    starts: int = 3
    rounds: int = 5
    each: int = 80
    long_answers: int = 8
    words: int = 400
    sessions: int = 32
    busy_seconds: float = 3.0
    idle_sessions: int = 2000
    limit_seconds: float = 180.0


FULL = Plan()
# Too little to say how fast anything is; enough to see that all of it is measured.
QUICK = Plan(
    starts=1, rounds=1, each=5, long_answers=1, sessions=4, busy_seconds=0.2, idle_sessions=40
)
