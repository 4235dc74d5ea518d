"""Lines to messages, a turn for each, and what Ctrl-C means meanwhile. Above: `chat`.

Below: `lines`, `attach`, `say`, `usage`, `brain_client`.
"""

import asyncio
import signal
import sys
from collections.abc import Callable
from typing import Any

from brain.cli.attach import MOST_BYTES, Image, NoImage, read_image
from brain.cli.lines import Lines
from brain.cli.plain import plain
from brain.cli.say import Listener
from brain.cli.usage import sentence
from brain_client import AsyncSession, BrainError, BrainUnavailable

HELP = """\
/image PATH  attach an image (PNG, JPEG, GIF or WebP) to the next message
/tools       say which tools the agent has
/usage       say what this session has used so far
/help        show this
/exit        end the chat, as Ctrl-D does
Ctrl-C interrupts the running turn. What is pasted at once is one message.\
"""
_OURS = ("/image", "/tools", "/usage", "/help", "/exit")
_STOPPED = 130
_WRONG_MESSAGE = (400, 409, 413, 422)
"""Statuses that speak of one message; the next one may be fine."""


class Conversation:
    """A session and somebody who talks to it, at a terminal or by a script."""

    def __init__(self, session: AsyncSession, lines: Lines, listener: Callable[[], Listener]):
        self.talked = False
        self._session = session
        self._lines = lines
        self._listener = listener
        self._images: list[Image] = []
        self._image_missing = False
        self._all_well = True
        self._stopped = False
        self._turn: asyncio.Task[bool] | None = None
        self._interrupt: asyncio.Task[None] | None = None

    async def run(self) -> int:
        """Talk until the input ends; gives the exit code.

        0, or for a script 1 if not every turn came to its end, and 130 if it was stopped.
        """
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._on_ctrl_c)
        try:
            while (text := await self._next()) is not None:
                for message in _messages(text):
                    if message == "/exit":
                        return self._exit_code()
                    await self._take(message)
        finally:
            loop.remove_signal_handler(signal.SIGINT)
        return self._exit_code()

    def _exit_code(self) -> int:
        if self._lines.interactive:
            return 0
        return _STOPPED if self._stopped else int(not self._all_well)

    async def _next(self) -> str | None:
        if self._lines.interactive:
            print("> ", end="", flush=True)
        text = await self._lines.next()
        if text is None and self._lines.interactive:
            print()
        return text

    async def _take(self, message: str) -> None:
        command, _, argument = message.partition(" ")
        if command == "/image":
            self._attach(argument.strip())
        elif message == "/help":
            print(HELP, file=sys.stderr)
        elif message in ("/tools", "/usage"):
            await self._tell(message)
        elif message and not self._lines.interactive and self._image_missing:
            self._image_missing = False
            self._images.clear()
            self._problem("not sent, since its image is missing")
        elif message:
            self._all_well = await self._run_turn(message) and self._all_well

    async def _tell(self, about: str) -> None:
        """Say what the session has, or has used."""
        try:
            data = await self._session.refresh()
        except (BrainError, BrainUnavailable) as error:
            self._problem(str(error))
            return
        tools = ", ".join(data["config"]["tools"]) or "none"
        said = f"tools: {tools}" if about == "/tools" else f"used: {sentence(data['usage'])}"
        print(f"({plain(said)})", file=sys.stderr, flush=True)

    def _attach(self, given: str) -> None:
        room = MOST_BYTES - sum(len(image.content) for image in self._images)
        try:
            image = read_image(given, room)
        except NoImage as problem:
            self._image_missing = True
            self._problem(str(problem))
            return
        self._images.append(image)
        if self._lines.interactive:
            print(plain(f"({image.name} goes with the next message)"))

    async def _run_turn(self, text: str) -> bool:
        """Whether the turn came to its end."""
        self._turn = asyncio.create_task(self._follow(self._content(text)))
        try:
            return await self._turn
        except asyncio.CancelledError:
            return False
        except (BrainError, BrainUnavailable) as error:
            if not self._lines.interactive and not _about_message(error):
                raise
            self._problem(str(error))
            return False
        finally:
            self._turn = self._interrupt = None

    def _content(self, text: str) -> str | list[dict[str, Any]]:
        blocks = [image.block() for image in self._images]
        self._images.clear()
        return [*blocks, {"type": "text", "text": text}] if blocks else text

    async def _follow(self, content: str | list[dict[str, Any]]) -> bool:
        listener = self._listener()
        async for event in self._session.run(content):
            self.talked = True
            listener.tell(event)
        return listener.completed

    def _on_ctrl_c(self) -> None:
        self._stopped = True
        running = self._turn is not None
        if running and self._interrupt is None:
            self._interrupt = asyncio.create_task(self._end_turn())
            if self._lines.interactive:
                return
        elif self._turn is not None:
            self._turn.cancel()
        self._lines.end()

    async def _end_turn(self) -> None:
        """Ask for the turn's end; whoever follows it sees that come."""
        try:
            answer = await self._session.interrupt()
        except (BrainError, BrainUnavailable) as error:
            self._problem(f"can't be interrupted: {error} Ctrl-C again ends the chat.")
            return
        if not answer["interrupted"]:  # the message wasn't there yet: Ctrl-C works once more
            self._interrupt = None

    def _problem(self, text: str) -> None:
        self._all_well = False
        print(f"({plain(text)})", file=sys.stderr, flush=True)


def _messages(text: str) -> list[str]:
    """Pasted lines are one message, unless one of them is for the chat itself."""
    lines = [line.strip() for line in text.split("\n")]
    ours = any(line.split(" ")[0] in _OURS for line in lines)
    return lines if ours else [text.strip()]


def _about_message(error: BrainError | BrainUnavailable) -> bool:
    return isinstance(error, BrainError) and error.status in _WRONG_MESSAGE
