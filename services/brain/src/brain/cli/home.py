"""The folder of `brain up`: keys, a host config, data. Made at the first start. Above: `up`.

Everything is written beside its place and then moved there, so that a first start that was killed
half-way is simply gone on with. A lock keeps a second `brain up` out for as long as one runs.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import stat
import tempfile
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

API_KEY = "BRAIN_API_KEY"
API_KEY_FILE = "api_key"
CONFIG_FILE = "brain.json"
_LONGEST_SOCKET = 100


class HomeProblem(Exception):
    """The home can't be used; the message is one clear line."""


class Home:
    """A folder that `brain up` keeps. `key_files` maps a variable to the file with its key."""

    def __init__(self, path: Path, key_files: Mapping[str, str]) -> None:
        self.path = path
        self.config = path / CONFIG_FILE
        self.api_key = path / API_KEY_FILE
        self._key_files = {API_KEY: API_KEY_FILE, **key_files}

    @contextlib.contextmanager
    def opened(self) -> Generator[None]:
        """Make what isn't there, and keep others out while the block runs. Raises: HomeProblem."""
        with self._problems(), contextlib.ExitStack() as stack:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            stack.enter_context(self._lock())
            for name in self._key_files.values():
                _make_key(self.path / name)
            opened = stack.pop_all()
        with opened:
            yield

    def keys(self) -> dict[str, str]:
        """The keys by their variables. Raises: HomeProblem."""
        with self._problems():
            return {
                variable: (self.path / name).read_text("ascii").strip()
                for variable, name in self._key_files.items()
            }

    def make_config(self, port: int, tools: list[dict[str, Any]]) -> None:
        """Write a host config. Raises: HomeProblem."""
        document = {
            "listen": f"127.0.0.1:{port}",
            "public_url": f"http://127.0.0.1:{port}",
            "store": "sqlite:///brain.db",
            "engine": {"listen": f"unix:{self._socket()}"},
            "tenants": [{"id": "local", "api_keys_env": [API_KEY]}],
            "tools": tools,
        }
        with self._problems():
            _write(self.config, json.dumps(document, indent=2) + "\n")

    def check_socket(self, listen: str) -> None:
        """Hold the folder of a socket outside the home to be ours alone. Raises: HomeProblem.

        Anyone may make a folder in /tmp before we do, and then answer in the engine's place.
        """
        folder = Path(listen.removeprefix("unix:")).parent
        if not listen.startswith("unix:") or folder.is_relative_to(self.path.absolute()):
            return
        with self._problems():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = folder.lstat()
        ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
        if not ours or stat.S_IMODE(found.st_mode) & 0o022:
            raise HomeProblem(
                f"others can write to {folder}, where the engine's socket is to be. Choose another "
                f"place at /engine/listen in {self.config}."
            )

    def _socket(self) -> str:
        """Where the engine listens: in the home, or, if that is too long for a socket, in /tmp."""
        absolute = bytes(self.path.absolute())
        if len(absolute) + len("/engine.sock") < _LONGEST_SOCKET:
            return "engine.sock"
        name = f"brain-{os.getuid()}-{hashlib.sha256(absolute).hexdigest()[:16]}"
        return str(Path(tempfile.gettempdir()) / name / "engine.sock")

    @contextlib.contextmanager
    def _lock(self) -> Generator[None]:
        with (self.path / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise HomeProblem(f"another `brain up` is running with {self.path}.") from None
            yield

    @contextlib.contextmanager
    def _problems(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            where = error.filename or self.path
            raise HomeProblem(f"{where} can't be used: {error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise HomeProblem(
                f"a key in {self.path} isn't ASCII text. Remove the file, and the next start makes "
                "a new key."
            ) from error


def _make_key(path: Path) -> None:
    """Make a key, unless there is one; then see to it that only its owner can read it."""
    if not path.exists() or not path.read_bytes().strip():
        _write(path, secrets.token_urlsafe(32) + "\n")
    elif stat.S_IMODE(path.stat().st_mode) & 0o077:
        path.chmod(0o600)


def _write(path: Path, text: str) -> None:
    """Write a private file, whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).rename(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
