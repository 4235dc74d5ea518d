"""`brain chat`: a session in the terminal. Below: `connect`, `lines`, `say`.

Ctrl-C interrupts the running turn; a second one, Ctrl-D or `/exit` ends the chat.
"""

import argparse
import asyncio
import signal
import sys

from brain.cli.connect import find_session, with_brain
from brain.cli.lines import Lines
from brain.cli.say import Teller
from brain_client import AsyncBrain, AsyncSession, BrainError, BrainUnavailable

_HINT = 'The demo model says back what you say. /call echo {"text":"hello"} calls a tool.'


def chat(given: argparse.Namespace) -> int:
    """Talk until the input ends; gives the exit code."""

    async def talk(brain: AsyncBrain) -> int:
        return await _Chat(await _session(brain, given)).run()

    return with_brain(given, talk)


async def _session(brain: AsyncBrain, given: argparse.Namespace) -> AsyncSession:
    if given.session:
        return await find_session(brain, given.session)
    if given.tools is None:
        tools = [tool["name"] for tool in (await brain.catalog())["tools"]]
    else:
        tools = [name.strip() for name in given.tools.split(",") if name.strip()]
    return await brain.create({"harness": "pi", "config": {"model": given.model, "tools": tools}})


class _Chat:
    """Reads lines, runs a turn for each, and knows what Ctrl-C means at the moment."""

    def __init__(self, session: AsyncSession) -> None:
        self._session = session
        self._lines = Lines()
        self._turn: asyncio.Task[bool] | None = None
        self._interrupt: asyncio.Task[None] | None = None

    async def run(self) -> int:
        """Gives 0, or 1 if a turn of a script didn't come to its end."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._on_ctrl_c)
        self._greet()
        all_completed = True
        while (line := await self._next_line()) not in (None, "/exit"):
            if line:
                all_completed = await self._run_turn(line) and all_completed
        return 0 if all_completed or self._lines.interactive else 1

    def _greet(self) -> None:
        if self._lines.interactive:
            model = self._session.data["config"]["model"]
            print(f"Session {self._session.id}, model {model}. Ctrl-D ends the chat.")
            if model == "demo/script":
                print(_HINT)

    async def _next_line(self) -> str | None:
        if self._lines.interactive:
            print("> ", end="", flush=True)
        line = await self._lines.next()
        if line is None and self._lines.interactive:
            print()
        return None if line is None else line.strip()

    async def _run_turn(self, text: str) -> bool:
        """Whether the turn came to its end."""
        self._turn = asyncio.create_task(self._follow(text))
        try:
            return await self._turn
        except asyncio.CancelledError:
            return False
        except (BrainError, BrainUnavailable) as error:
            if not self._lines.interactive:
                raise
            print(f"({error})")
            return False
        finally:
            self._turn = self._interrupt = None

    async def _follow(self, text: str) -> bool:
        teller = Teller(sys.stdout)
        async for event in self._session.run(text):
            teller.tell(event)
        return teller.completed

    def _on_ctrl_c(self) -> None:
        if self._turn is not None and self._interrupt is None:
            self._interrupt = asyncio.create_task(self._end_turn())
            return
        self._lines.end()
        if self._turn is not None:
            self._turn.cancel()

    async def _end_turn(self) -> None:
        """Ask for the turn's end; whoever follows it sees that come."""
        try:
            answer = await self._session.interrupt()
        except (BrainError, BrainUnavailable) as error:
            print(f"(can't be interrupted: {error} Ctrl-C again ends the chat.)")
            return
        if not answer["interrupted"]:  # the message wasn't there yet: Ctrl-C works once more
            self._interrupt = None
