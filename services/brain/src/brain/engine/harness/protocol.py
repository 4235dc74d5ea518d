"""What a harness is, and what it is given. Above: `session`. Below: `pi`.

A harness has no I/O of its own: it sees the session's log, a model and the tools through what is
here. It is built from the log's events alone, so it can be rebuilt from them at any time.
"""

from typing import Protocol

from msgspec import Struct

from brain.engine.harness.interrupt import Interrupt
from brain.engine.model.protocol import Model
from brain.engine.tool.protocol import ToolCaller
from brain_core.events import CompactionFailed, ContextCompacted, ErrorInfo, Event, EventData
from brain_core.session import SessionConfig, ToolSpec
from brain_core.usage import Usage

INTERNAL_ERROR = ErrorInfo("internal_error", "Something went wrong inside Brain.")
"""What is said of a bug of ours; the log of the engine says more."""


class KnownModels(Protocol):
    """What is known of models, each by its full id, `provider/model`."""

    def window(self, model_id: str) -> int | None:
        """How many tokens a request may have, or None if that isn't known."""
        ...

    def cost(self, model_id: str, usage: Usage) -> float | None:
        """What this usage of one call costs in US dollars, or None if that isn't known."""
        ...


class Spent(Struct, frozen=True):
    """What the model calls have used that the log tells of."""

    turn: Usage
    session: Usage


class SessionPort(Protocol):
    """What a harness is given of its session, whatever it does."""

    tenant_id: str
    session_id: str
    config: SessionConfig
    tools: tuple[ToolSpec, ...]
    model: Model
    interrupt: Interrupt

    async def append(self, *data: EventData) -> None:
        """Make events durable, all or none of them; each is then given to the agent's `apply`."""
        ...

    def spent(self) -> Spent:
        """What has been used so far."""
        ...


class TurnPort(SessionPort, Protocol):
    """What a harness is given for one turn."""

    turn_id: str
    traceparent: str | None
    caller: ToolCaller

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

    async def compact(self, port: SessionPort) -> ContextCompacted | CompactionFailed | None:
        """Summarise what the model has been told, while no turn runs.

        Gives the event that says how it went, already durable; None if there is nothing to
        summarise, and then nothing was done.
        """
        ...


class Harness(Protocol):
    """A kind of agent loop."""

    name: str

    def open(self) -> Agent:
        """A new agent, for a session whose events will be applied to it from the first on."""
        ...
