"""Makes a `Provider` of a `Remote`: processes with names, killed with all their children.

Above: `registry`. Below: `provider`. No provider's SDK kills a command's children, and none kills a
command when its caller goes, so scripts do it: a process is the leader of a session of its own, and
carries its name in its environment, by which those are found that left the session.
"""

import shlex

from sandbox.provider import STATE, Key, Output, Remote

_MARK = "BRAIN_PROCESS"

_LEAD = f"""
d={STATE}/processes/$N; mkdir -p "$d" {STATE}/killed || exit 125
{_MARK}=$N setsid bash -c "$S" </dev/null & p=$!
echo $p >"$d/pid"
[ ! -e {STATE}/killed/$N ] || kill -KILL -- -$p $p 2>/dev/null
"""
_RUN = f'{_LEAD}wait $p; rc=$?; rm -rf "$d"\n'
_SWEEP = f"""
for i in 1 2 3 4 5 6 7 8 9 10; do
  found=$(grep -lsz "^{_MARK}=$N\\$" /proc/[0-9]*/environ | tr -dc '0-9\\n')
  [ -n "$found" ] || break
  kill -KILL $found 2>/dev/null
done
"""
_KILL = f"""
mkdir -p {STATE}/killed && : >{STATE}/killed/$N
p=$(cat {STATE}/processes/$N/pid 2>/dev/null) && kill -KILL -- -$p 2>/dev/null
{_SWEEP}
rm -rf {STATE}/processes/$N
"""


class Scripted:
    """A provider whose processes are kept track of by scripts in the sandbox."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self.workspace = remote.workspace

    async def find(self, key: Key) -> str | None:
        return await self._remote.find(key)

    async def create(self, key: Key) -> str:
        return await self._remote.create(key)

    async def alive(self, sandbox: str) -> bool:
        return await self._remote.alive(sandbox)

    async def end(self, sandbox: str) -> None:
        await self._remote.end(sandbox)

    async def upload(self, sandbox: str, path: str, data: bytes) -> None:
        await self._remote.upload(sandbox, path, data)

    async def execute(self, sandbox: str, script: str, output: Output, name: str = "") -> int:
        if name:
            script = _given(name, script) + _RUN + _SWEEP + "exit $rc\n"
        return await self._remote.execute(sandbox, script, output)

    async def spawn(self, sandbox: str, name: str, script: str) -> None:
        await self._quietly(sandbox, f"{_given(name, script)}exec >/dev/null 2>&1{_LEAD}")

    async def kill(self, sandbox: str, name: str) -> None:
        await self._quietly(sandbox, f"N={name}\n{_KILL}")

    async def _quietly(self, sandbox: str, script: str) -> None:
        await self._remote.execute(sandbox, script, _dropped)


def _given(name: str, script: str) -> str:
    return f"N={name}; S={shlex.quote(script)}\n"


async def _dropped(_stream: str, _piece: bytes) -> None:
    pass
