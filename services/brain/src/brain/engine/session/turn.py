"""A running turn, as the harness sees it. Above: `actor`. Below: `journal`."""

import asyncio

from brain.engine.harness.interrupt import Interrupt
from brain.engine.model.protocol import Model
from brain.engine.model.unavailable import UnavailableModel
from brain.engine.session.journal import Journal
from brain.engine.session.state import SessionState
from brain.engine.tool.protocol import ToolCaller
from brain_core.events import EventData, SessionCreated


class RunningTurn:
    """Implements the harness's `TurnPort`.

    `ended` is set once what ended the turn is durable; `interrupted` says whether that was an
    interrupt.
    """

    def __init__(
        self,
        ids: tuple[str, str, str],
        created: SessionCreated,
        state: SessionState,
        journal: Journal,
        model: Model | None,
        caller: ToolCaller,
        traceparent: str | None,
    ) -> None:
        self.tenant_id, self.session_id, self.turn_id = ids
        self.config = created.config
        self.tools = created.tools
        self.traceparent = traceparent
        self.model = model or UnavailableModel()
        self.caller = caller
        self.interrupt = Interrupt()
        self.ended = asyncio.Event()
        self.interrupted = False
        self._state = state
        self._journal = journal

    async def append(self, *data: EventData) -> None:
        await self._journal.append([(self.turn_id, each) for each in data])

    def publish(self, data: EventData) -> None:
        self._journal.publish(self.turn_id, data)

    def steers(self) -> tuple[str, ...]:
        return tuple(
            message.message_id
            for message in self._state.waiting.values()
            if message.delivery == "steer"
        )
