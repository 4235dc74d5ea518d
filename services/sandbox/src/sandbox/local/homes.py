"""Where the files of sandboxes are on this machine, and whose they are. Above: `provider`.

A service that is root gives each sandbox a user of its own, one that the machine uses for nothing
else: root inside bubblewrap would still be root to the kernel where it counts processes and guards
its settings. That user must be able to reach its files, so they can't lie below a folder that is
closed to others, as a data folder usually is.
"""

import hashlib
import os
import pwd
import secrets
import shutil
import subprocess
from pathlib import Path

from sandbox.local.bubblewrap import make_folders
from sandbox.provider import Setup
from tool_service import CannotServe
from tool_service.settings import number

FOLDER = "SANDBOX_FOLDER"
USERS = "SANDBOX_FIRST_UID"
_USERS_FROM = 1_900_000_000  # no distribution and no container manager gives these to anyone
_USERS = 10_000
_ELSEWHERE = Path("/var/lib/brain-sandbox")


class Homes:
    """The sandboxes' folders. A sandbox's id is its folder's name: the key's label and a suffix."""

    def __init__(self, folder: Path, first_user: int | None) -> None:
        self.folder = folder
        self._first_user = first_user

    @property
    def as_owner(self) -> bool:
        """Whether each sandbox has a user of its own."""
        return self._first_user is not None

    def find(self, label: str) -> str | None:
        """The sandbox of a label."""
        return next((path.name for path in self.folder.glob(f"{label}-*")), None)

    def path(self, sandbox: str) -> Path | None:
        """A sandbox's folder; None if it has ended."""
        path = self.folder / sandbox
        return path if path.is_dir() else None

    def make(self, label: str) -> str:
        """A new sandbox with empty folders. Raises: OSError."""
        unfinished = self.folder / f".{secrets.token_hex(4)}"
        make_folders(unfinished, None if self._first_user is None else self._free_user())
        sandbox = f"{label}-{secrets.token_hex(4)}"
        unfinished.rename(self.folder / sandbox)
        return sandbox

    def remove(self, sandbox: str) -> None:
        """Remove a sandbox's files, when no process of it runs any more."""
        path = self.folder / sandbox
        if not path.exists():
            return
        hidden = self.folder / f".{secrets.token_hex(4)}"
        path.rename(hidden)  # at once no sandbox any more, however long the rest takes
        _delete(hidden)

    def tidy(self) -> None:
        """Remove what an earlier process left half done."""
        for path in self.folder.glob(".*"):
            _delete(path)

    def _free_user(self) -> int:
        assert self._first_user is not None
        taken = {path.stat().st_uid for path in self.folder.parent.glob("*/*") if path.is_dir()}
        known = {entry.pw_uid for entry in pwd.getpwall()}
        for user in range(self._first_user, self._first_user + _USERS):
            if user not in taken and user not in known:
                return user
        raise OSError(0, f"no user id is free from {self._first_user} on")


def homes(setup: Setup) -> Homes:
    """The folder for sandboxes, made if it isn't there. Raises: CannotServe."""
    root = os.geteuid() == 0
    said = setup.env.get(FOLDER)
    base = Path(said) if said else (_ELSEWHERE if root else setup.data / "sandboxes")
    try:
        folder = _made(base, setup.data) if root else base
        folder.mkdir(mode=0o711 if root else 0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CannotServe(
            f"{error.filename or base} can't be made: {error.strerror}. Name another folder in "
            f"{FOLDER}, or run the service as another user than root."
        ) from error
    if root and (closed := _closed(folder)):
        raise CannotServe(
            f"sandboxes have users of their own, who can't reach {folder}, since {closed} is "
            f"closed to them: chmod o+x it, name another folder in {FOLDER}, or run the service as "
            "another user than root."
        )
    first = number(setup.env, USERS, _USERS_FROM, 1000, 4_000_000_000) if root else None
    return Homes(folder, first)


def _made(base: Path, data: Path) -> Path:
    """A folder for this data folder's sandboxes: services on one machine share the base."""
    base.mkdir(mode=0o711, parents=True, exist_ok=True)
    return base / hashlib.sha256(bytes(data.resolve())).hexdigest()[:16]


def _closed(folder: Path) -> Path | None:
    ways = (folder.resolve(), *folder.resolve().parents)
    return next((each for each in ways if not each.stat().st_mode & 0o001), None)


def _delete(path: Path) -> None:
    """Delete a tree that a stranger made. rm minds neither its depth nor links in it."""
    rm = shutil.which("rm") or "/bin/rm"
    if os.geteuid() != 0:
        chmod = shutil.which("chmod") or "/bin/chmod"
        subprocess.run([chmod, "-R", "u+rwX", "--", path], check=False, capture_output=True)
    subprocess.run([rm, "-rf", "--one-file-system", "--", path], check=False, capture_output=True)
