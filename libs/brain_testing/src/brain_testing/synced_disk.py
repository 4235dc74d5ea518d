"""A disk that keeps only what was synced, for a process that uses SQLite: what a power cut leaves.

`python -m brain_testing.synced_disk DATABASE FOLDER ...` runs `brain ...`. Whenever SQLite has had
the database or its write-ahead log synced, the file as it is then is copied into the folder. So the
folder always holds what would still be there if the power went at that moment, and nothing that was
only written. Below: SQLite's own interface to files, in C.
"""

import ctypes
import os
import shutil
import sys
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, c_int, c_void_p
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from brain.main import main

_METHODS = (
    *("xClose", "xRead", "xWrite", "xTruncate", "xSync", "xFileSize", "xLock", "xUnlock"),
    *("xCheckReservedLock", "xFileControl", "xSectorSize", "xDeviceCharacteristics"),
    *("xShmMap", "xShmLock", "xShmBarrier", "xShmUnmap", "xFetch", "xUnfetch"),
)


class _Methods(ctypes.Structure):
    """`sqlite3_io_methods`."""

    _fields_: ClassVar = [("iVersion", c_int), *((name, c_void_p) for name in _METHODS)]


class _Vfs(ctypes.Structure):
    """`sqlite3_vfs`, as far as it is used."""

    _fields_: ClassVar = [
        *((name, c_int) for name in ("iVersion", "szOsFile", "mxPathname")),
        *((name, c_void_p) for name in ("pNext", "zName", "pAppData", "xOpen")),
    ]


class _File(ctypes.Structure):
    """`sqlite3_file`."""

    _fields_: ClassVar = [("pMethods", POINTER(_Methods))]


# The name is a pointer here, to be passed on as it is: SQLite goes on using what it points to.
_OPEN = CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(_File), c_int, c_void_p)
_SYNC = CFUNCTYPE(c_int, c_void_p, c_int)
_keep: list[Any] = []
"""What C holds on to must not be collected."""


def keep_what_is_synced(database: Path, folder: Path) -> None:
    """From now on, whatever of it this process has had synced is copied into the folder."""
    vfs = _default_vfs()
    watched = {os.fsencode(f"{database.resolve()}{side}") for side in ("", "-wal")}
    opened = _OPEN(vfs.xOpen)

    def open_file(this: int, name: int | None, file: Any, flags: int, out: int) -> int:
        code = opened(this, name, file, flags, out)
        path = ctypes.string_at(name) if name else b""
        if code == 0 and path in watched:
            _watch(file.contents, Path(os.fsdecode(path)), folder)
        return code

    callback = _OPEN(open_file)
    _keep.extend((vfs, callback))
    vfs.xOpen = ctypes.cast(callback, c_void_p).value


def _default_vfs() -> _Vfs:
    """That of the SQLite which Python's `sqlite3` uses, and of no other."""
    library = ctypes.CDLL(import_module("_sqlite3").__file__)
    find: Callable[[None], Any] = library.sqlite3_vfs_find
    find.restype = POINTER(_Vfs)
    return find(None).contents


def _watch(file: _File, path: Path, folder: Path) -> None:
    methods = _Methods.from_buffer_copy(file.pMethods.contents)
    synced = _SYNC(methods.xSync)

    def sync(this: int, flags: int) -> int:
        code = synced(this, flags)
        if code == 0:
            new = folder / f".{path.name}"
            shutil.copyfile(path, new)
            new.rename(folder / path.name)
        return code

    callback = _SYNC(sync)
    methods.xSync = ctypes.cast(callback, c_void_p).value
    _keep.extend((methods, callback))
    file.pMethods = ctypes.pointer(methods)


if __name__ == "__main__":
    keep_what_is_synced(Path(sys.argv[1]), Path(sys.argv[2]))
    main(sys.argv[3:])
