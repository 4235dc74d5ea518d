"""`brain chat` on a terminal of its own, as a person sees it. Above: tests of the command line.

Below: `commands`, a pseudo-terminal.
"""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from brain_testing.commands import BIN
from brain_testing.desk import within


class Terminal:
    """A command on a terminal. `said` is all that the terminal has shown."""

    def __init__(self, process: asyncio.subprocess.Process, side: int) -> None:
        self.process = process
        self.said = ""
        self._side = side

    async def shows(self, text: str) -> None:
        """Return once this stands at the end of what is shown."""
        while not self.said.endswith(text):
            piece = await within(asyncio.to_thread(os.read, self._side, 4096))
            self.said += piece.decode().replace("\r\n", "\n")

    def type(self, text: str) -> None:
        """Type it; what is typed is shown, too."""
        os.write(self._side, text.encode())

    def press_ctrl_c(self) -> None:
        """Interrupt the command."""
        self.process.send_signal(signal.SIGINT)

    async def ends(self) -> int:
        """Its exit code, once it has ended; `said` has all of it then."""
        code = await within(self.process.wait())
        os.set_blocking(self._side, False)
        try:
            while piece := os.read(self._side, 65_536):
                self.said += piece.decode().replace("\r\n", "\n")
        except OSError:  # no more
            pass
        return code


@asynccontextmanager
async def chat_on_a_terminal(
    *options: str, env: dict[str, str], folder: Path | None = None
) -> AsyncGenerator[Terminal]:
    """`brain chat` at work while the block is."""
    side, end = os.openpty()
    process = await asyncio.create_subprocess_exec(
        *(str(BIN / "brain"), "chat", *options),
        env=env,
        cwd=folder,
        stdin=end,
        stdout=end,
        stderr=end,
    )
    os.close(end)
    try:
        yield Terminal(process, side)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(side)
