"""A command's output through Daytona, exactly and at once. Above: `daytona`.

Daytona's daemon reads what a command writes by lines, in a shell: a prompt without a newline stays
away, the last line gets one, NUL bytes go, and long lines of the two streams may be mixed up. So a
script's output is sent as lines of its own, each a piece in base64 behind the name of its stream,
and the exit code as the last. A line with its newline is at most what a pipe takes at once (4096
bytes), so that the pieces of two streams never mix.
"""

import base64
import shlex

from sandbox.provider import Output, Stream

_PIECE_BYTES = 3000
_STREAMS: dict[str, Stream] = {"o": "stdout", "e": "stderr"}

# 3 takes the exit code out of the pipelines, 5 is the output, 6 leads to the pump of stdout and 7
# to that of stderr: bash says on its own stderr that a signal ended a command.
_WRAPPER = f"""
pump() {{
  while x=$(dd bs={_PIECE_BYTES} count=1 status=none | base64 -w0) && [ -n "$x" ]; do
    echo "$1$x"
  done
}}
exec 5>&1
code=$({{
  {{
    {{
      bash -c "$1" </dev/null 2>&7 3>&- 5>&- 6>&- 7>&-; echo $? >&3
    }} 2>&1 1>&6 7>&2 2>/dev/null | pump e >&5 3>&- 6>&-
  }} 6>&1 | pump o >&5 3>&-
}} 3>&1)
echo "x$code"
"""


def wrapped(script: str) -> str:
    """A command for any shell that runs `bash -c SCRIPT` and writes what `Decoder` takes."""
    return shlex.join(["bash", "-c", _WRAPPER, "-", script])


class Decoder:
    """Takes the lines, also when they are sent again from the first."""

    def __init__(self, output: Output) -> None:
        self.exit_code: int | None = None
        self._output = output
        self._open = ""
        self._line = 0
        self._taken = 0

    def rewind(self) -> None:
        """What follows begins with the first line again."""
        self._open = ""
        self._line = 0

    async def take(self, text: str) -> None:
        """A piece of the command's standard output, as the SDK gives it."""
        *lines, self._open = (self._open + text).split("\n")
        for line in lines:
            self._line += 1
            if self._line > self._taken:
                self._taken = self._line
                await self._take_line(line)

    async def ignore(self, text: str) -> None:
        """What the shell around it writes to standard error."""

    async def _take_line(self, line: str) -> None:
        if line[:1] == "x":
            self.exit_code = int(line[1:])
        elif line[:1] in _STREAMS:
            await self._output(_STREAMS[line[0]], base64.b64decode(line[1:]))
