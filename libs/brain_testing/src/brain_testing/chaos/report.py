"""What a run has done, and all that it found to be wrong. Above: `driver`, `disturbing`."""

from collections import Counter
from statistics import median

from msgspec import Struct, field

TAKEOVER_SECONDS = 15.0
"""How soon another engine has the sessions of one that died: what is promised."""


class Report(Struct):
    """`done` counts disturbances, `points` those at a named point, `missed` points in vain.

    `takeovers` are the seconds from an engine's death, or from its stop for longer than its lease,
    until all its work was another's; `late` are those that took longer than is promised. `stale`
    counts writes that were refused to a late owner.
    """

    store: str
    seed: int
    seconds: float = 0.0
    sessions: int = 0
    messages: int = 0
    turns: int = 0
    calls: int = 0
    events: int = 0
    repeats: int = 0
    stale: int = 0
    done: Counter[str] = field(default_factory=Counter[str])
    points: Counter[str] = field(default_factory=Counter[str])
    missed: Counter[str] = field(default_factory=Counter[str])
    takeovers: list[float] = field(default_factory=list[float])
    late: list[str] = field(default_factory=list[str])
    findings: list[str] = field(default_factory=list[str])

    @property
    def kills(self) -> int:
        """How often something was killed as by `kill -9`."""
        killed = sum(n for what, n in self.done.items() if what.startswith("kill"))
        return killed + sum(n for what, n in self.points.items() if not what.endswith("stop"))

    def summary(self) -> str:
        """The run in some lines."""
        lines = [
            f"{self.store}, seed {self.seed}, {self.seconds:.0f} s",
            f"{self.kills} kills, {len(self.findings)} findings",
            f"{self.sessions} sessions, {self.messages} messages, {self.turns} turns",
            f"{self.calls} tool calls, {self.events} events, {self.repeats} requests asked again",
            _counts("done", self.done),
            _counts("at points", self.points),
        ]
        if self.missed:
            lines.append(_counts("points that nothing came to in time", self.missed))
        if self.takeovers:
            lines.append(
                f"{len(self.takeovers)} takeovers, in {min(self.takeovers):.1f} to"
                f" {max(self.takeovers):.1f} s, median {median(self.takeovers):.1f} s;"
                f" {self.stale} writes refused to late owners"
            )
        return "\n".join([*lines, *(f"FOUND: {each}" for each in self.findings)])


def _counts(title: str, counts: Counter[str]) -> str:
    return f"{title}: " + ", ".join(f"{what} {n}" for what, n in sorted(counts.items()))
