"""A real Postgres for tests: a server of this process, and databases in it.

Above: `plugin`. Below: the programs of `postgres_programs`. Nothing has to be installed; it runs as
an ordinary user, whoever runs the tests, and ends with the process that started it, however that
ends.
"""

import asyncio
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import asyncpg

from brain_testing.postgres_programs import find_programs, reachable

_SETTINGS = {
    # Tests lose no power: what is written need not reach a disk.
    "fsync": "off",
    "full_page_writes": "off",
    "listen_addresses": "",
    "shared_buffers": "32MB",
    "max_connections": "200",
    "deadlock_timeout": "200ms",
}
# A shell stands between: it reads a pipe that only the test process holds open, and stops the
# server when it is told how, or when the pipe ends because that process has died. Then nobody else
# removes the folder either.
_WATCH = '"$@" & read -r how; kill -"${how:-QUIT}" $!; wait $!; [ -n "$how" ] || rm -rf "$0"'
# Run in the child's place. The `user` of `subprocess` would fork, and what is forked from a process
# in which gRPC is at work may crash.
_BECOME = (
    "import os, sys; user, group = map(int, sys.argv[1:3]); os.setgroups([]); os.setgid(group);"
    " os.setuid(user); os.execv(sys.argv[3], sys.argv[3:])"
)
_SECONDS = 30.0


class PostgresServer:
    """A server on a Unix socket in a folder of its own."""

    def __init__(self) -> None:
        # Not pytest's folder: a Unix socket's path may have at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="brain-pg-"))
        self._user = _ordinary_user()
        self.folder.chmod(0o755)
        self._run_folder.mkdir()
        if self._user is not None:
            for path in (self.folder, self._run_folder):
                os.chown(path, *self._user)
        self._programs = reachable(find_programs(), self.folder, as_root=self._user is not None)
        self._watch: subprocess.Popen[bytes] | None = None
        self._made = 0
        where = ("-D", str(self.folder / "data"), "--no-sync", "--no-instructions")
        self._run("initdb", *where, "-U", "brain", "-A", "trust", "-E", "UTF8", "--locale=C")

    @property
    def _run_folder(self) -> Path:
        return self.folder / "run"

    @property
    def socket(self) -> Path:
        """The Unix socket that it listens on."""
        return self._run_folder / ".s.PGSQL.5432"

    def url(self, database: str, *, user: str = "brain", folder: Path | None = None) -> str:
        """The address of a database; `folder` is that of another socket that leads here."""
        where = quote(str(folder or self._run_folder), safe="")
        return f"postgresql://{user}@/{database}?host={where}"

    def start(self, **settings: str) -> None:
        """Start it; it takes connections when this returns."""
        given = {**_SETTINGS, **settings}
        options = [part for name, value in given.items() for part in ("-c", f"{name}={value}")]
        where = ["-D", str(self.folder / "data"), "-k", str(self._run_folder)]
        command = [str(self._programs / "postgres"), *where]
        with (self.folder / "log").open("ab") as log:
            self._watch = subprocess.Popen(
                self._as_user(["/bin/sh", "-c", _WATCH, str(self.folder), *command, *options]),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wait_until_ready()

    def stop(self, *, crash: bool = False) -> None:
        """Stop it, with a shutdown or, as a crash would, at once."""
        watch, self._watch = self._watch, None
        if watch is not None and watch.stdin is not None:
            watch.stdin.write(b"QUIT\n" if crash else b"INT\n")
            watch.stdin.close()
            watch.wait(_SECONDS)

    async def become_standby(self) -> None:
        """Start again as a standby, which can only be read; its primary is nowhere."""
        await asyncio.to_thread(self.stop)
        (self.folder / "data" / "standby.signal").touch()
        await asyncio.to_thread(self.start)

    def close(self) -> None:
        """Stop it and remove all that it held."""
        self.stop(crash=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    async def database(self, template: str = "template1") -> str:
        """Make a database like another; gives its name."""
        self._made += 1
        name = f"test_{self._made}"
        await self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    async def has_database(self, name: str) -> bool:
        """Whether there is one of this name."""
        query = "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)"
        return await self.execute(query, "postgres", name)

    async def execute(self, statement: str, database: str = "postgres", *values: object) -> Any:
        """Run a statement as the server's owner; gives the first value, if there is one."""
        driver: Any = asyncpg
        connection = await driver.connect(self.url(database))
        try:
            return await connection.fetchval(statement, *values)
        finally:
            await connection.close()

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _SECONDS
        asked = [
            str(self._programs / "pg_isready"),
            "-q",
            "-U",
            "brain",
            "-h",
            str(self._run_folder),
        ]
        while subprocess.run([*asked, "-d", "postgres"], check=False).returncode != 0:
            if time.monotonic() > deadline:
                raise RuntimeError((self.folder / "log").read_text("utf-8", errors="replace"))
            time.sleep(0.02)

    def _as_user(self, command: list[str]) -> list[str]:
        if self._user is None:
            return command
        return [sys.executable, "-I", "-S", "-c", _BECOME, *map(str, self._user), *command]

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            self._as_user([str(self._programs / program), *arguments]),
            check=False,
            capture_output=True,
            text=True,
            cwd=self.folder,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{program} failed: {done.stderr}")


def _ordinary_user() -> tuple[int, int] | None:
    """Who runs it, by user and group; None for whoever runs the tests.

    Postgres refuses to run as root: then it runs as nobody."""
    if os.geteuid() != 0:
        return None
    nobody = pwd.getpwnam("nobody")
    return nobody.pw_uid, nobody.pw_gid
