"""What a sandbox on this machine may use. Above: `provider`. Below: `settings`."""

from collections.abc import Mapping

from msgspec import Struct

from tool_service.settings import number

_MIB = 1024 * 1024
_LARGEST_MB = 1024 * 1024


class Limits(Struct, frozen=True):
    """Of a whole sandbox: bytes of memory, bytes and number of files on disk, processes.

    Of one file: bytes. Of one process: seconds of CPU time and open files.
    """

    memory_bytes: int = 1024 * _MIB
    disk_bytes: int = 2048 * _MIB
    entries: int = 200_000
    processes: int = 256
    file_bytes: int = 1024 * _MIB
    cpu_seconds: int = 3600
    open_files: int = 1024

    def shell(self) -> str:
        """Commands that hold bash, and all that it starts, to what the kernel counts by itself.

        `-d` is a process's own memory: unlike `-v` it doesn't count what runtimes reserve and never
        touch. What all of them use together is beyond these limits.
        """
        kib = 1024
        return (
            f"ulimit -u {self.processes} -d {self.memory_bytes // kib} "
            f"-f {self.file_bytes // kib} -t {self.cpu_seconds} -n {self.open_files} "
            "-c 0 -l 0 -q 0 || exit 125\n"
        )


def limits(env: Mapping[str, str]) -> Limits:
    """The limits that the environment sets. Raises: CannotServe."""

    def megabytes(variable: str, default: int) -> int:
        return number(env, variable, default, 16, _LARGEST_MB) * _MIB

    disk = megabytes("SANDBOX_DISK_MB", 2048)
    return Limits(
        memory_bytes=megabytes("SANDBOX_MEMORY_MB", 1024),
        disk_bytes=disk,
        entries=number(env, "SANDBOX_FILES", 200_000, 1000, 10_000_000),
        processes=number(env, "SANDBOX_PROCESSES", 256, 8, 32_768),
        file_bytes=min(disk, megabytes("SANDBOX_FILE_MB", 1024)),
        cpu_seconds=number(env, "SANDBOX_CPU_SECONDS", 3600, 1, 604_800),
    )
