"""What starts commands in Modal's sandboxes. Above: `modal`. Below: `rpc`, `machine`, `faults`.

A command is started once for its id, however often it is asked for. Its output is kept and read
from any offset, so that a reader whose stream was cut goes on where it was.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

from grpclib import GRPCError, Status
from modal_proto import task_command_router_pb2 as router
from modal_proto.task_command_router_grpc import TaskCommandRouterBase

from brain_testing.sandbox_servers.faults import Faults, Kind
from brain_testing.sandbox_servers.machine import Machine, Running
from brain_testing.sandbox_servers.rpc import Call, servicer

_REFUSALS: Mapping[Kind, tuple[Status, str]] = {
    "auth": (Status.PERMISSION_DENIED, "not your sandbox"),
    "rate_limit": (Status.RESOURCE_EXHAUSTED, "Rate limit exceeded"),
    "capacity": (Status.RESOURCE_EXHAUSTED, "too many processes"),
    "invalid": (Status.INVALID_ARGUMENT, "invalid command"),
}
_PIECE = 64 * 1024


class Sandbox(Protocol):
    """What the router knows of a sandbox."""

    @property
    def task(self) -> str: ...

    @property
    def result(self) -> Any: ...

    @property
    def machine(self) -> Machine: ...


class _Command:
    """A command and what it wrote."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.written = {"stdout": bytearray(), "stderr": bytearray()}
        self.taken = 0
        self.changed = asyncio.Condition()
        self.gathering = asyncio.create_task(self._gather())

    async def _gather(self) -> None:
        async for stream, piece in self.running.output():
            async with self.changed:
                self.written[stream] += piece
                self.changed.notify_all()
        async with self.changed:
            self.changed.notify_all()

    async def ended(self) -> int:
        """Its exit code, once it has ended."""
        async with self.changed:
            await self.changed.wait_for(lambda: self.running.exit_code is not None)
        assert self.running.exit_code is not None
        return self.running.exit_code

    async def after(self, stream: str, offset: int) -> bytes:
        """What it wrote behind an offset, or nothing at its end."""
        written = self.written[stream]
        async with self.changed:
            await self.changed.wait_for(
                lambda: len(written) > offset or self.running.exit_code is not None
            )
            return bytes(written[offset : offset + _PIECE])


class Router:
    """Answers for these sandboxes."""

    def __init__(self, sandboxes: Mapping[str, Sandbox], faults: Faults) -> None:
        self._sandboxes = sandboxes
        self._faults = faults
        self._commands: dict[str, _Command] = {}

    def servicer(self) -> Any:
        """The gRPC service."""
        return servicer(TaskCommandRouterBase, self)

    async def task_exec_start(self, call: Call) -> Any:
        kind = await self._faults.take("execute")
        sandbox = self._sandbox(call)
        if kind is not None and kind in _REFUSALS:
            raise GRPCError(*_REFUSALS[kind])
        if kind == "error":
            raise GRPCError(Status.INTERNAL, "internal error")
        asked = call.asked
        if asked.exec_id not in self._commands:
            running = await sandbox.machine.run(asked.command_args, cwd=asked.workdir or None)
            self._commands[asked.exec_id] = _Command(running)
        if kind == "lost_answer":
            raise GRPCError(Status.INTERNAL, "internal error")
        return router.TaskExecStartResponse()

    async def task_exec_stdio_read(self, call: Call) -> None:
        command, offset = self._command(call), call.asked.offset
        out = router.TASK_EXEC_STDIO_FILE_DESCRIPTOR_STDOUT
        stream = "stdout" if call.asked.file_descriptor == out else "stderr"
        while piece := await command.after(stream, offset):
            kind = await self._faults.take("execute")
            if kind == "cut" and offset:
                raise call.cut()
            offset += len(piece)
            await call.send(router.TaskExecStdioReadResponse(data=piece))

    async def task_exec_wait(self, call: Call) -> Any:
        code = await self._command(call).ended()
        self._sandbox(call)
        if code < 0:
            return router.TaskExecWaitResponse(signal=-code)
        return router.TaskExecWaitResponse(code=code)

    async def task_exec_stdin_write(self, call: Call) -> Any:
        kind = await self._faults.take("upload")
        if kind is not None and kind in _REFUSALS:
            raise GRPCError(*_REFUSALS[kind])
        if kind == "error":
            raise GRPCError(Status.INTERNAL, "internal error")
        asked, command = call.asked, self._command(call)
        fresh = asked.data[command.taken - asked.offset :]
        command.taken += len(fresh)
        if fresh:
            await command.running.feed(fresh)
        if asked.eof and not kind:
            command.running.close_input()
        if kind == "cut":
            raise call.cut()
        return router.TaskExecStdinWriteResponse()

    def _sandbox(self, call: Call) -> Sandbox:
        for sandbox in self._sandboxes.values():
            if sandbox.task == call.asked.task_id and sandbox.result is None:
                return sandbox
        raise GRPCError(Status.NOT_FOUND, "task not found")

    def _command(self, call: Call) -> _Command:
        if call.asked.exec_id not in self._commands:
            raise GRPCError(Status.NOT_FOUND, "exec not found")
        return self._commands[call.asked.exec_id]
