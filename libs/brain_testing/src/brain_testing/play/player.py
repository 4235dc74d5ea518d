"""Plays one session through. Above: property tests. Below: `parts`, `stepped_log`, the engine.

async with session_player(path, config, known) as player:
    player.send("hi", "queue")
    await player.rounds()
"""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec import Raw

from brain.engine.harness.registry import harnesses
from brain.engine.log.protocol import LogUnavailable, SessionRecord
from brain.engine.log.sqlite import open_sqlite
from brain.engine.model.protocol import Answer
from brain.engine.session.answers import Accepted
from brain.engine.session.commands import Commands
from brain.engine.session.creation import Creation
from brain.engine.session.fanout import Fanout
from brain.engine.session.manager import SessionManager
from brain.engine.session.once import Once
from brain.engine.session.refused import Refused
from brain.engine.session.waking import Parts
from brain.engine.tool.catalog import Binding, Catalog
from brain_core import events
from brain_core.content import TextBlock, ToolResult, UserBlock
from brain_core.events import Event
from brain_core.session import Delivery, SessionConfig, no_metadata
from brain_core.usage import Usage
from brain_testing.manual_clock import ManualClock
from brain_testing.play.parts import OneModel, PlayedModel, PlayedTools
from brain_testing.play.stepped_log import SteppedLog
from brain_testing.scripted_model import Known

TENANT = "local"
_ROUNDS = 30
"""So many rounds of the loop, and whatever has been begun waits for somebody else."""

_MOST_MOVES = 500
_SCHEMA = Raw(b'{"type":"object"}')
_ENOUGH = Answer((TextBlock("Enough."),), "end_turn", Usage())
_DONE = ToolResult((TextBlock("Done."),))


class SessionPlayer:
    """One session, and the engine that it is in. Its methods act at once, and wait for nothing."""

    def __init__(self, path: Path, known: Known) -> None:
        self.model = PlayedModel()
        self.tools = PlayedTools()
        self.clock = ManualClock()
        self.accepted: list[str] = []
        self.restarts = 0
        self._path = path
        self._kinds = harnesses(known, self.clock)
        self._catalog = Catalog(
            [Binding("ask", "Asks.", _SCHEMA, "http://x/", frozenset([TENANT]))]
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._session_id = ""

    async def open(self) -> None:
        """Start the engine."""
        self._real = await open_sqlite(self._path)
        self._log = SteppedLog(self._real)
        models = OneModel(self.model)
        parts = Parts(self._log.as_log, Fanout(), self.clock, self._kinds, models, self.tools)
        once = Once(self._log.as_log, self.clock)
        self._manager = SessionManager(parts, once)
        creation = Creation(self._kinds, models, self._catalog, self.clock)
        self._commands = Commands(parts, self._manager, creation, once)
        await self._manager.recover()

    async def create(self, config: SessionConfig) -> None:
        """Make the session."""
        made = await self._commands.create(TENANT, "pi", config, no_metadata())
        assert isinstance(made, SessionRecord), made
        self._session_id = made.id

    async def close(self) -> None:
        """Stop the engine. What it had not written yet is lost."""
        await self._manager.stop()
        self._log.lose()
        for task in self._tasks:
            task.cancel()
        await self.rounds()
        self.tools.died()
        await self._real.close()

    async def restart(self) -> None:
        """Let the engine die, and start it again."""
        await self.close()
        self.restarts += 1
        await self.open()

    def send(self, content: tuple[UserBlock, ...], delivery: Delivery) -> None:
        async def send() -> None:
            answer = await self._commands.send(
                TENANT, self._session_id, content, delivery, traceparent=None
            )
            if isinstance(answer, Accepted):
                self.accepted.append(answer.message_id)

        self._do(send())

    def withdraw(self, number: int) -> None:
        """Withdraw one of the messages that wait, if there is any."""

        async def withdraw() -> None:
            queued = await self._commands.queued(TENANT, self._session_id)
            if not isinstance(queued, Refused) and queued:
                chosen = queued[number % len(queued)].message_id
                await self._commands.withdraw(TENANT, self._session_id, chosen)

        self._do(withdraw())

    def interrupt(self, *, keep_queue: bool) -> None:
        self._do(self._commands.interrupt(TENANT, self._session_id, keep_queue=keep_queue))

    def compact(self) -> None:
        self._do(self._commands.compact(TENANT, self._session_id))

    def end(self) -> None:
        """Close the session."""
        self._do(self._commands.close(TENANT, self._session_id))

    async def rounds(self) -> None:
        """Let everything go on as far as it can without a write."""
        quiet = 0
        while quiet < _ROUNDS:
            await asyncio.sleep(0)
            quiet = 0 if await self._log.reads_end() else quiet + 1

    async def settle(self) -> None:
        """Write whatever is to be written, until nothing goes on by itself."""
        await self.rounds()
        while await self._log.write_one():
            await self.rounds()

    async def finish(self) -> None:
        """Let the session come to rest: the model ends, tools answer, pauses pass."""
        for _ in range(_MOST_MOVES):
            await self.settle()
            if self.model.call is not None:
                self.model.say(_ENOUGH)
            elif self.tools.running:
                self.tools.end(0, _DONE)
            elif self.clock.sleepers:
                await self.clock.advance(60)
            else:
                return
        raise AssertionError("the session doesn't come to rest")

    async def events(self) -> list[Event]:
        """What the log holds."""
        page, more = await self._real.read(self._session_id, 0, 100_000)
        assert not more
        return [events.decode(each.body) for each in page]

    async def record(self) -> SessionRecord:
        """What the log says of the session."""
        record = await self._real.get(self._session_id)
        assert record is not None
        return record

    async def tenant_usage(self) -> Usage:
        """What the log says that the tenant has used."""
        daily = await self._real.usage(TENANT, None, None)
        return sum((each.usage for each in daily), Usage())

    def _do(self, command: Coroutine[Any, Any, object]) -> None:
        task = asyncio.create_task(_quietly(command))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _quietly(command: Coroutine[Any, Any, object]) -> None:
    """A command whose engine stops is answered with an error, and that's all."""
    try:
        await command
    except LogUnavailable:
        return


@asynccontextmanager
async def session_player(
    path: Path, config: SessionConfig, known: Known
) -> AsyncGenerator[SessionPlayer]:
    """A session that nothing has happened in yet, in an engine of its own."""
    player = SessionPlayer(path, known)
    await player.open()
    try:
        await player.create(config)
        yield player
    finally:
        await player.close()
