"""Makes the synchronous client out of the asynchronous one, so that there is one to write.

`sync_client.py` writes `libs/brain_client/src/brain_client/sync`, `sync_client.py --check` says
whether what is there is what would be written.
"""

import filecmp
import subprocess
import sys
import tempfile
from pathlib import Path

import unasync

PACKAGE = Path("libs/brain_client/src/brain_client")
WORDS = {
    "AsyncBrain": "Brain",
    "AsyncClient": "Client",
    "AsyncConnection": "Connection",
    "AsyncGenerator": "Generator",
    "AsyncSession": "Session",
    "aclose": "close",
    "aclosing": "closing",
    "aio": "sync",
    "aiter_bytes": "iter_bytes",
    "anext": "next",
    "aread": "read",
    "asyncio": "time",
}
DOCSTRING = (
    '"""The synchronous client, made from `aio` by `make sync-client`: change it there."""\n'
)


def write(folder: Path) -> None:
    """Write the synchronous client's modules into a folder."""
    rule = unasync.Rule(f"/{PACKAGE.name}/aio/", f"/{PACKAGE.name}/sync/", WORDS)
    made = folder / PACKAGE.name
    (made / "aio").mkdir(parents=True)
    for module in sorted((PACKAGE / "aio").glob("*.py")):
        (made / "aio" / module.name).write_text(module.read_text())
    unasync.unasync_files(  # pyright: ignore[reportUnknownMemberType]
        [str(each) for each in (made / "aio").iterdir()], [rule]
    )
    (made / "sync" / "__init__.py").write_text(DOCSTRING)
    for module in (made / "sync").glob("*.py"):
        module.write_text(_formatted(module.read_text(), PACKAGE / "sync" / module.name))


def _formatted(code: str, path: Path) -> str:
    """Code as ruff wants it at a path."""
    ruff = str(Path(sys.executable).with_name("ruff"))
    at = ["--quiet", "--stdin-filename", str(path), "-"]
    for command in (["check", "--select", "I", "--fix"], ["format"]):
        done = subprocess.run(
            [ruff, *command, *at], input=code, text=True, stdout=subprocess.PIPE, check=True
        )
        code = done.stdout
    return code


def main() -> int:
    """Write the modules, or compare them."""
    with tempfile.TemporaryDirectory() as temporary:
        write(Path(temporary))
        made, there = Path(temporary, PACKAGE.name, "sync"), PACKAGE / "sync"
        names = sorted({each.name for folder in (made, there) for each in folder.glob("*.py")})
        _, differ, missing = filecmp.cmpfiles(made, there, names, shallow=False)
        if "--check" in sys.argv[1:]:
            for name in sorted([*differ, *missing]):
                print(f"{there / name} isn't what make sync-client writes.")
            return 1 if differ or missing else 0
        there.mkdir(exist_ok=True)
        for name in names:
            if (made / name).exists():
                (there / name).write_text((made / name).read_text())
            else:
                (there / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
