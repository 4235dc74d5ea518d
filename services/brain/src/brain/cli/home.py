"""The folder of `brain up`: keys, a host config, data. Made at the first start. Above: `up`.

Everything is written beside its place and then moved there, so that a first start that was killed
half-way is simply gone on with.
"""

import hashlib
import json
import os
import secrets
import stat
import tempfile
from pathlib import Path
from typing import Any

_KEY_FILES = {
    "BRAIN_API_KEY": "api_key",
    "BRAIN_TOOLS_KEY": "tools_key",
}
_LONGEST_SOCKET = 100


class HomeProblem(Exception):
    """The home can't be used; the message is one clear line."""


class Home:
    """A folder that `brain up` keeps."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "brain.json"
        self.api_key = path / "api_key"

    def make(self) -> None:
        """Make the folder and the keys that aren't there. Raises: HomeProblem."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name in _KEY_FILES.values():
                self._make_key(self.path / name)
        except OSError as error:
            raise HomeProblem(f"{self.path} can't be used: {error.strerror}.") from error

    def keys(self) -> dict[str, str]:
        """The keys by their variables; a variable that is set in the environment wins."""
        return {
            variable: os.environ.get(variable) or (self.path / name).read_text().strip()
            for variable, name in _KEY_FILES.items()
        }

    def make_config(self, port: int, tools: list[dict[str, Any]]) -> None:
        """Write a host config, unless there is one."""
        if self.config.exists():
            return
        document = {
            "listen": f"127.0.0.1:{port}",
            "public_url": f"http://127.0.0.1:{port}",
            "store": "sqlite:///brain.db",
            "engine": {"listen": f"unix:{self._socket()}"},
            "tenants": [{"id": "local", "api_keys_env": ["BRAIN_API_KEY"]}],
            "tools": tools,
        }
        _write(self.config, json.dumps(document, indent=2) + "\n")

    def _make_key(self, path: Path) -> None:
        if not path.exists() or not path.read_text().strip():
            _write(path, secrets.token_urlsafe(32) + "\n")
        elif stat.S_IMODE(path.stat().st_mode) & 0o077:
            path.chmod(0o600)

    def _socket(self) -> str:
        """Where the engine listens: in the home, or, if that is too long for a socket, in /tmp."""
        if len(bytes(self.path.absolute() / "engine.sock")) <= _LONGEST_SOCKET:
            return "engine.sock"
        digest = hashlib.sha256(bytes(self.path.absolute())).hexdigest()[:16]
        return str(Path(tempfile.gettempdir()) / f"brain-{os.getuid()}-{digest}" / "engine.sock")


def _write(path: Path, text: str) -> None:
    """Write a private file, whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    Path(name).rename(path)
