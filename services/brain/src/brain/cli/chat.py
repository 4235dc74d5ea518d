"""`brain chat`: a session in the terminal. Below: `brain_client`, `say`.

Ctrl-C interrupts the running turn; a second one, Ctrl-D or `/exit` ends the chat.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import threading
from pathlib import Path

from brain.cli.say import Teller
from brain_client import AsyncBrain, AsyncSession, BrainError, BrainUnavailable

_HINT = 'The demo model says back what you say. /call echo {"text":"hello"} calls a tool.'


def chat(given: argparse.Namespace) -> int:
    """Talk until the input ends; gives the exit code."""
    try:
        return asyncio.run(_chat(given))
    except (BrainError, BrainUnavailable) as error:
        print(f"brain chat: {error}", file=sys.stderr)
        return 1


async def _chat(given: argparse.Namespace) -> int:
    async with AsyncBrain(_url(given), _key(given)) as brain:
        session = await _session(brain, given)
        if sys.stdin.isatty():
            print(f"Session {session.id}, model {session.data['config']['model']}.")
            print(f"{_HINT}\n" if given.model == "demo/script" else "", end="")
        return await _Chat(session).run()


def _url(given: argparse.Namespace) -> str | None:
    """The address that was given, or the environment's, or the home's."""
    config: Path = given.home / "brain.json"
    if given.url or os.environ.get("BRAIN_URL") or not config.exists():
        return given.url
    return json.loads(config.read_text()).get("public_url")


def _key(given: argparse.Namespace) -> str | None:
    """The key that was given, or the environment's, or the home's."""
    file: Path = given.home / "api_key"
    if given.key or os.environ.get("BRAIN_API_KEY") or not file.exists():
        return given.key
    return file.read_text().strip()


async def _session(brain: AsyncBrain, given: argparse.Namespace) -> AsyncSession:
    if given.session:
        return await brain.session(given.session)
    if given.tools is None:
        tools = [tool["name"] for tool in (await brain.catalog())["tools"]]
    else:
        tools = [name for name in given.tools.split(",") if name]
    return await brain.create({"harness": "pi", "config": {"model": given.model, "tools": tools}})


class _Chat:
    """Reads lines, runs a turn for each, and knows what Ctrl-C means at the moment."""

    def __init__(self, session: AsyncSession) -> None:
        self._session = session
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._turn: asyncio.Task[bool] | None = None
        self._interrupted = False
        self._tasks: set[asyncio.Task[object]] = set()

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._on_ctrl_c)
        # A thread that waits for input can't be told to stop: a daemon needn't be.
        threading.Thread(target=self._read_lines, args=(loop,), daemon=True).start()
        failed = False
        while (line := await self._next_line()) not in (None, "/exit"):
            if line:
                failed = not await self._run_turn(line) or failed
        return 1 if failed else 0

    def _read_lines(self, loop: asyncio.AbstractEventLoop) -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(self._lines.put_nowait, line.rstrip("\n"))
        loop.call_soon_threadsafe(self._lines.put_nowait, None)

    async def _next_line(self) -> str | None:
        if sys.stdin.isatty():
            print("> ", end="", flush=True)
        return await self._lines.get()

    async def _run_turn(self, text: str) -> bool:
        self._interrupted = False
        self._turn = asyncio.create_task(self._follow(text))
        try:
            return await self._turn
        except asyncio.CancelledError:
            return False
        finally:
            self._turn = None

    async def _follow(self, text: str) -> bool:
        """Whether the turn came to its end."""
        teller = Teller(sys.stdout)
        async for event in self._session.run(text):
            teller.tell(event)
        return teller.completed

    def _on_ctrl_c(self) -> None:
        if self._turn is None or self._interrupted:
            self._lines.put_nowait(None)
            if self._turn is not None:
                self._turn.cancel()
            return
        self._interrupted = True
        task: asyncio.Task[object] = asyncio.create_task(self._session.interrupt())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
