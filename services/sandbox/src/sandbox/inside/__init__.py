"""The scripts that run inside a sandbox, the same for every provider. Above: `tools`.

Values reach a script as shell variables. A script that refuses says why in one line on its standard
error, after the word that it was given for that, and exits with `REFUSED`.
"""

import base64
import re
import shlex
from collections.abc import Mapping
from importlib.resources import files

from msgspec import Struct

from sandbox.provider import STATE

REFUSED = 97
EMBEDDED_BYTES = 16 * 1024
"""Input up to this size is part of the script; more is uploaded first."""

_COMMON = "common.sh"


class Refusal(Exception):
    """A script did nothing; the text says why, for the model."""


class Input(Struct, frozen=True):
    """Bytes for a script: `define` is shell code that makes a function `input` that writes them."""

    define: str


def embedded(data: bytes) -> Input:
    """Input within the script itself."""
    return Input(f"input() {{ base64 -d <<<{base64.b64encode(data).decode()}; }}")


def uploaded(path: str) -> Input:
    """Input from a file, which is gone after that."""
    return Input(f"input() {{ exec 8<{path}; rm -f {path}; cat <&8; }}")


NOTHING = Input("input() { :; }")


def script(name: str, workspace: str, word: str, *defined: str, **values: str) -> str:
    """A script of this folder with its values, and with functions that it uses.

    `word` marks what it says when it refuses.
    """
    given = {"W": workspace, "STATE": STATE, "WORD": word, **values}
    lines = [f"{key}={shlex.quote(value)}" for key, value in given.items()]
    return "\n".join([*lines, _read(_COMMON), *defined, _read(name)])


def command(text: str, env: Mapping[str, str]) -> str:
    """A shell function `become` that replaces the shell by the user's command.

    The variables are set last of all: one may be the PATH by which the others are decoded.
    """
    values = "".join(f"  v{n}={_encoded(value)}\n" for n, value in enumerate(env.values()))
    exports = "".join(f'  export {name}="${{v{n}%x}}"\n' for n, name in enumerate(env))
    return (
        f"become() {{\n  local text={_encoded(text)}\n{values}{exports}"
        '  exec bash -c "${text%x}"\n}'
    )


def refusal(word: str, code: int, stderr: str) -> str | None:
    """What a script that refused says, or None if this isn't one."""
    match = re.match(rf"{re.escape(word)} (.*)", stderr)
    return match[1] if code == REFUSED and match else None


def _encoded(text: str) -> str:
    """By base64, whose size doesn't depend on what is in it. The x keeps newlines at the end."""
    return f'"$(decoded {base64.b64encode(text.encode()).decode()}; echo x)"'


def _read(name: str) -> str:
    return files(__name__).joinpath(name).read_text("utf-8")
