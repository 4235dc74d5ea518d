"""What a harness is, and what it is given. Above: `session`. Below: `pi`.

A harness has no I/O of its own: it sees the session's log, a model and the tools through what is
here. It is built from the log's events alone, so it can be rebuilt from them at any time.
"""

from typing import Protocol

from brain.engine.harness.interrupt import Interrupt
from brain.engine.model.protocol import Model
from brain.engine.tool.protocol import ToolCaller
from brain_core.events import Event, EventData
from brain_core.session import SessionConfig, ToolSpec


class TurnPort(Protocol):
    """What a harness is given for one turn."""

    tenant_id: str
    session_id: str
    turn_id: str
    config: SessionConfig
    tools: tuple[ToolSpec, ...]
    traceparent: str | None
    model: Model
    caller: ToolCaller
    interrupt: Interrupt

    async def append(self, *data: EventData) -> None:
        """Make events durable, all or none of them; each is then given to the agent's `apply`."""
        ...

    def publish(self, data: EventData) -> None:
        """Show a live-only event to whoever follows the session now."""
        ...

    def steers(self) -> tuple[str, ...]:
        """Ids of the steered messages that wait. Append `MessagesDelivered` to take them in."""
        ...


class Agent(Protocol):
    """A harness in one session."""

    def apply(self, event: Event) -> None:
        """Take in an event of the log: called once for each durable event, in order."""
        ...

    async def run(self, turn: TurnPort) -> tuple[EventData, ...]:
        """Run the turn that the log says is open, from wherever it stands.

        Returns the events that end it, not yet appended: the last is `TurnCompleted`,
        `TurnFailed` or `TurnInterrupted`. Every tool call has its result by then.
        """
        ...


class Harness(Protocol):
    """A kind of agent loop."""

    name: str

    def open(self) -> Agent:
        """A new agent, for a session whose events will be applied to it from the first on."""
        ...
