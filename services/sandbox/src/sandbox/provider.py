"""What a provider of sandboxes does, and how it fails. Above: `pool`. Below: `providers`.

The service knows sandboxes by this page only. It asks little: a provider makes and ends sandboxes
and runs shell scripts in them. All else that the tools offer (folders, environment, jobs, files) is
done by scripts of `inside`, the same for every provider, so paths are checked in the sandbox.

A sandbox must have bash, GNU coreutils, findutils and grep, and util-linux's `setsid` and `flock`.
"""

import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

Stream = Literal["stdout", "stderr"]
Output = Callable[[Stream, bytes], Awaitable[None]]
"""Takes what a script writes, in order for each stream, in pieces of any size, as it comes.

It may be slow, and then the provider reads slowly, too. It is awaited, never run beside itself.
"""

STATE = "/var/tmp/brain"  # noqa: S108 - a folder inside a sandbox
"""Where the scripts keep what outlives one of them, in each sandbox: a folder that they make."""


class Key(Struct, frozen=True):
    """Whose sandbox it is. Both come from the authenticated session."""

    tenant_id: str
    session_id: str

    @property
    def label(self) -> str:
        """The same for the same key, and fit for any provider's names: `brain-` and 40 hex digits.

        Ids of tenants and sessions stay here: a provider has no need of them.
        """
        both = f"{len(self.tenant_id)}:{self.tenant_id}{self.session_id}"
        return "brain-" + hashlib.sha256(both.encode()).hexdigest()[:40]


class Setup(Struct, frozen=True):
    """What a provider is made from.

    `env` is the service's environment, where the provider's usual variables are; `data` is a folder
    of the service's; `network` says whether sandboxes may reach the internet. A provider that can
    ends a sandbox by itself `longest_seconds` after it was made, so that none outlives a service
    that died.
    """

    env: Mapping[str, str]
    data: Path
    network: bool
    longest_seconds: int


class Remote(Protocol):
    """What a provider with an SDK implements: `scripted.Scripted` makes a `Provider` of it.

    A `sandbox` is the provider's own id, as `create` gave it. Each method may be cancelled at any
    time, and the service puts a deadline around each; a method needs none of its own and switches
    off or outlasts the SDK's where that may be shorter. Nothing is retried that may have had an
    effect, unless the provider itself makes the repetition harmless.

    Every method raises `Refused`, `Lost` and (but for `find` and `create`) `Gone`, and no other:
    the SDK's own exceptions are translated in one place.
    """

    workspace: str
    """The absolute path of the folder for the session's files. The scripts make it."""

    async def find(self, key: Key) -> str | None:
        """The sandbox that was made for `key` and still lives (or can be woken), if there is one.

        Asked after a `create` whose outcome was lost, and when the service's own record is gone.
        """
        ...

    async def create(self, key: Key) -> str:
        """Make a sandbox for `key`, marked so that `find` finds it, and give its id once it runs.

        The marks are `key.label` only. If one for `key` is there already, it may give that one.
        """
        ...

    async def alive(self, sandbox: str) -> bool:
        """Whether a script could be run in it now, or after waking it. False if it is gone."""
        ...

    async def end(self, sandbox: str) -> None:
        """End it with all that runs in it and all its files. One that is gone already is fine."""
        ...

    async def execute(self, sandbox: str, script: str, output: Output) -> int:
        """Run `bash -c SCRIPT` with an empty standard input; give its exit code.

        `script` has up to 120 KiB. 128 + N for a script that signal N ended. Returns when bash has
        ended and all its output was handed over. A cancelled call may leave the script running: the
        service ends what it started by another script. Raises `Refused` or `Gone` only if the
        script surely never began; `Lost` once it may have, also when the sandbox ended meanwhile.
        """
        ...

    async def upload(self, sandbox: str, path: str, data: bytes) -> None:
        """Write a file of up to 8 MiB at an absolute path below `STATE`; make its folders.

        Its owner is the user that scripts run as.
        """
        ...


class Provider(Remote, Protocol):
    """What the service uses. Processes have a name: letters, digits, `_` and `-`, never used twice.

    `execute` runs a process that has a name, so that `kill` can end it.
    """

    async def execute(self, sandbox: str, script: str, output: Output, name: str = "") -> int:
        """As `Remote.execute`. One without a name can't be killed, and ends soon by itself."""
        ...

    async def spawn(self, sandbox: str, name: str, script: str) -> None:
        """Start a script in the background and return; its output is dropped."""
        ...

    async def kill(self, sandbox: str, name: str) -> None:
        """End a process with all its children, at once; none of that name is fine.

        One that is started under this name later doesn't run.
        """
        ...


Open = Callable[[Setup], AsyncGenerator[Remote]]
"""Each module of `providers` has `remote`, an async generator that yields a `Remote` once and then
closes its client. It raises `tool_service.CannotServe` with one clear line if it isn't configured
(a key is missing, say); it contacts nobody."""


Reason = Literal["auth", "quota", "rate_limit", "capacity", "unreachable", "invalid"]
"""Why a provider refuses.

`auth`: the key is missing, wrong or not allowed. `quota`: an account's limit or its money is used
up. `rate_limit`: too many requests; later it would go. `capacity`: the provider has no machine free
just now. `unreachable`: no connection was made. `invalid`: it refuses the request for what it says,
a template that doesn't exist, for example.
"""


class Refused(Exception):
    """The provider didn't take the request: nothing happened.

    `detail` is for the operator's log, in one line: what the provider said, without keys. The model
    reads a sentence of the service's own that depends on `reason` only.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason: Reason = reason
        self.detail = detail


class Lost(Exception):
    """The request may have been taken, and what came of it isn't known. The text is for the log."""


class Gone(Exception):
    """The sandbox doesn't exist any more, with its files; nothing of the request was done."""
