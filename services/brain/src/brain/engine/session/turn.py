"""What runs in a session, as the harness sees it. Above: `runner`, `actor`. Below: `journal`."""

import asyncio

from brain.engine.harness.interrupt import Interrupt
from brain.engine.harness.protocol import Spent
from brain.engine.model.protocol import Model
from brain.engine.model.unavailable import UnavailableModel
from brain.engine.session.answers import Attempt, Compacted
from brain.engine.session.journal import Journal
from brain.engine.session.state import SessionState
from brain.engine.tool.protocol import ToolCaller
from brain_core.events import CompactionFailed, ContextCompacted, EventData
from brain_core.usage import Usage


class _Running:
    """Implements the harness's `SessionPort`. `ended` is set once what ended it is durable.

    `let_go`: it didn't end but goes on at the next start of an engine.
    """

    def __init__(
        self,
        ids: tuple[str, str, str | None],
        state: SessionState,
        journal: Journal,
        model: Model | None,
    ) -> None:
        created = state.created
        assert created is not None, "a session's first event creates it"
        self.tenant_id, self.session_id, self._turn_id = ids
        self.config = created.config
        self.tools = created.tools
        self.model = model or UnavailableModel()
        self.interrupt = Interrupt()
        self.ended = asyncio.Event()
        self.let_go = False
        self._state = state
        self._journal = journal

    async def append(self, *data: EventData) -> None:
        await self._journal.append([(self._turn_id, each) for each in data])

    def spent(self) -> Spent:
        turn = self._state.turn
        return Spent(Usage() if turn is None else turn.usage, self._state.usage)


class RunningTurn(_Running):
    """Implements the harness's `TurnPort`. `interrupted` says whether that was how it ended.

    `asked_to_end` are attempts at that; they are answered in the commit in which the turn ends.
    """

    def __init__(
        self,
        ids: tuple[str, str, str],
        state: SessionState,
        journal: Journal,
        model: Model | None,
        caller: ToolCaller,
        traceparent: str | None,
    ) -> None:
        super().__init__(ids, state, journal, model)
        self.turn_id = ids[2]
        self.traceparent = traceparent
        self.caller = caller
        self.interrupted = False
        self.asked_to_end: list[Attempt] = []
        self.settled = asyncio.Event()
        self._settling = False

    async def append(self, *data: EventData) -> None:
        await super().append(*data)
        if self._settling and not self._calls_in_flight and self.interrupt.reason is None:
            self.settled.set()
            await asyncio.get_running_loop().create_future()  # until whoever wants it cancels it

    def settle(self) -> None:
        """Let the calls that are in flight end, and then go no further.

        `settled` is set once none is in flight, or the turn has ended.
        """
        self._settling = True
        if not self._calls_in_flight:
            self.settled.set()

    @property
    def _calls_in_flight(self) -> bool:
        turn = self._state.turn
        return turn is not None and bool(turn.open_calls)

    def publish(self, data: EventData) -> None:
        self._journal.publish(self.turn_id, data)

    def steers(self) -> tuple[str, ...]:
        return tuple(
            message.message_id
            for message in self._state.waiting.values()
            if message.delivery == "steer"
        )


class RunningCompaction(_Running):
    """A compaction that somebody asked for, while no turn runs. `done` is what came of it.

    If there is an `attempt`, it is answered in the commit of a compaction that came about.
    """

    done: ContextCompacted | CompactionFailed | None = None
    attempt: Attempt | None = None

    async def append(self, *data: EventData) -> None:
        attempt = self.attempt
        answers = [
            (attempt, Compacted(each.tokens_before, each.tokens_after))
            for each in data
            if attempt is not None and isinstance(each, ContextCompacted)
        ]
        await self._journal.append([(None, each) for each in data], answers)
