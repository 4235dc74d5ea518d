"""A stand-in for Modal: its control plane and the command router of each sandbox, on one port.

Above: tests. Below: `modal_router`, `rpc`, `machine`, `faults`. Both services are made from the
stubs that ship in Modal's package. Modal takes the call that says `x-idempotency-key` once only.
"""

import asyncio
import base64
import json
import secrets
import socket
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from google.protobuf.empty_pb2 import Empty
from grpclib import GRPCError, Status
from grpclib.server import Server
from modal_proto import api_pb2 as api
from modal_proto.api_grpc import ModalClientBase

from brain_testing.sandbox_servers.faults import Faults, Kind, Operation
from brain_testing.sandbox_servers.machine import Machine
from brain_testing.sandbox_servers.modal_router import Router
from brain_testing.sandbox_servers.rpc import Call, servicer

_HOME = "/root"
_WORKSPACE = "/workspace"
_ENDED = api.GenericResult.GENERIC_STATUS_TERMINATED
_BUILDER = "2025.06"
_REFUSALS: Mapping[Kind, tuple[Status, str]] = {
    "auth": (Status.UNAUTHENTICATED, "Token validation failed"),
    "rate_limit": (Status.RESOURCE_EXHAUSTED, "Rate limit exceeded"),
    "quota": (Status.RESOURCE_EXHAUSTED, "Workspace spend limit reached"),
    "capacity": (Status.RESOURCE_EXHAUSTED, "No worker with enough free resources"),
    "invalid": (Status.INVALID_ARGUMENT, "Invalid sandbox definition"),
    "error": (Status.INTERNAL, "internal error"),
    "lost_answer": (Status.INTERNAL, "internal error"),
}


class ModalSandbox:
    """One sandbox: what it was asked to be, and the machine that it is."""

    def __init__(self, asked: Any) -> None:
        name = secrets.token_hex(16)
        self.id = "sb-" + name[:26]  # 22 characters would say that it is of the first version
        self.task = f"ta-{name[:22]}V"
        self.name: str = asked.definition.name
        self.tags = {tag.tag_name: tag.tag_value for tag in asked.tags}
        self.seconds: int = asked.definition.timeout_secs
        self.result: Any = None
        self.ended = asyncio.Event()
        access = asked.definition.network_access.network_access_type
        network = access != api.NetworkAccess.NetworkAccessType.BLOCKED
        self.machine = Machine(_HOME, _WORKSPACE, network=network)

    async def end(self, status: "api.GenericResult.GenericStatus.ValueType") -> None:
        """Have it finished."""
        if self.result is None:
            self.result = api.GenericResult(status=status, exitcode=137)
            self.ended.set()
            await self.machine.end()


class ModalServer:
    """`async with modal_server() as server:`; `server.env` is what points the SDK here."""

    def __init__(self) -> None:
        self.key = "as-" + secrets.token_hex(20)
        self.faults = Faults()
        self.created: list[Any] = []
        self.env: dict[str, str] = {}
        self.url = ""
        self.all: dict[str, ModalSandbox] = {}
        self._by_key: dict[str, ModalSandbox] = {}
        self._ends: set[asyncio.Task[None]] = set()

    @property
    def sandboxes(self) -> Mapping[str, ModalSandbox]:
        """Those that run."""
        return {name: each for name, each in self.all.items() if each.result is None}

    async def lose(self, sandbox: str) -> None:
        """End a sandbox, as the provider does by itself."""
        await self.all[sandbox].end(api.GenericResult.GENERIC_STATUS_TIMEOUT)

    async def close(self) -> None:
        """End all sandboxes."""
        for task in self._ends:
            task.cancel()
        for sandbox in self.all.values():
            await sandbox.end(_ENDED)

    async def client_hello(self, _call: Call) -> Any:
        return api.ClientHelloResponse(image_builder_version=_BUILDER)

    async def auth_token_get(self, call: Call) -> Any:
        await self._checked(call, None)
        return api.AuthTokenGetResponse(token=_token())

    async def app_get_or_create(self, call: Call) -> Any:
        await self._checked(call, None)
        return api.AppGetOrCreateResponse(app_id="ap-" + call.asked.app_name)

    async def environment_get_or_create(self, call: Call) -> Any:
        await self._checked(call, None)
        settings = api.EnvironmentSettings(image_builder_version=_BUILDER)
        metadata = api.EnvironmentMetadata(name="main", settings=settings)
        return api.EnvironmentGetOrCreateResponse(environment_id="en-1", metadata=metadata)

    async def image_get_or_create(self, call: Call) -> Any:
        await self._checked(call, None)
        built = api.GenericResult(status=api.GenericResult.GENERIC_STATUS_SUCCESS)
        return api.ImageGetOrCreateResponse(image_id="im-stand-in", result=built)

    async def sandbox_create_v2(self, call: Call) -> Any:
        kind = await self._checked(call, "create")
        key = call.metadata["x-idempotency-key"]
        sandbox = self._by_key.get(key)
        if sandbox is None:
            name = call.asked.definition.name
            if any(each.name == name for each in self.sandboxes.values()):
                raise GRPCError(Status.ALREADY_EXISTS, f"Sandbox with name {name} already exists")
            sandbox = self._by_key[key] = await self._made(call.asked)
        _answered(call, kind)
        return api.SandboxCreateV2Response(
            sandbox_id=sandbox.id,
            task_id=sandbox.task,
            metadata=_metadata(sandbox),
            command_router_access=api.CommandRouterAccess(url=self.url, jwt=_token()),
        )

    async def sandbox_get_task_id_v2(self, call: Call) -> Any:
        await self._checked(call, None)
        sandbox = self._sandbox(call)
        return api.SandboxGetTaskIdResponse(task_id=sandbox.task, task_result=sandbox.result)

    async def sandbox_get_command_router_access(self, call: Call) -> Any:
        await self._checked(call, None)
        if self._sandbox(call).result is not None:
            raise GRPCError(Status.FAILED_PRECONDITION, "Sandbox has already finished")
        return api.SandboxGetCommandRouterAccessResponse(url=self.url, jwt=_token())

    async def sandbox_wait_v2(self, call: Call) -> Any:
        kind = await self._checked(call, "look")
        sandbox = self._sandbox(call)
        with suppress(TimeoutError):
            async with asyncio.timeout(call.asked.timeout or None if sandbox.result else 0.001):
                await sandbox.ended.wait()
        _answered(call, kind)
        return api.SandboxWaitResponse(result=sandbox.result, metadata=_metadata(sandbox))

    async def sandbox_terminate_v2(self, call: Call) -> Any:
        kind = await self._checked(call, "end")
        await self._sandbox(call).end(_ENDED)
        _answered(call, kind)
        return api.SandboxTerminateResponse()

    async def sandbox_get_from_name_v2(self, call: Call) -> Any:
        kind = await self._checked(call, "find")
        _answered(call, kind)
        for sandbox in self.sandboxes.values():
            if sandbox.name == call.asked.sandbox_name:
                metadata = _metadata(sandbox)
                return api.SandboxGetFromNameResponse(sandbox_id=sandbox.id, metadata=metadata)
        raise GRPCError(Status.NOT_FOUND, f"Sandbox {call.asked.sandbox_name} not found")

    async def sandbox_get_from_name(self, call: Call) -> Any:
        """The SDK looks for one of the first version, too. There is none."""
        raise GRPCError(Status.NOT_FOUND, f"Sandbox {call.asked.sandbox_name} not found")

    async def sandbox_tags_set_v2(self, call: Call) -> Any:
        self._sandbox(call).tags = {tag.tag_name: tag.tag_value for tag in call.asked.tags}
        return Empty()

    async def _made(self, asked: Any) -> ModalSandbox:
        self.created.append(asked)
        sandbox = ModalSandbox(asked)
        await sandbox.machine.__aenter__()
        self.all[sandbox.id] = sandbox
        self._ends.add(asyncio.create_task(self._end_in_time(sandbox)))
        return sandbox

    async def _end_in_time(self, sandbox: ModalSandbox) -> None:
        await asyncio.sleep(sandbox.seconds)
        await self.lose(sandbox.id)

    async def _checked(self, call: Call, operation: Operation | None) -> Kind | None:
        if call.metadata.get("x-modal-token-secret") != self.key:
            raise GRPCError(*_REFUSALS["auth"])
        kind = await self.faults.take(operation) if operation else None
        if kind is not None and kind not in {"lost_answer", "cut"}:
            raise GRPCError(*_REFUSALS[kind])
        return kind

    def _sandbox(self, call: Call) -> ModalSandbox:
        name = call.asked.sandbox_id
        if name not in self.all:
            raise GRPCError(Status.NOT_FOUND, f"Sandbox {name} not found")
        return self.all[name]


@asynccontextmanager
async def modal_server() -> AsyncGenerator[ModalServer]:
    """A Modal of one's own, while the block runs."""
    server = ModalServer()
    router = Router(server.all, server.faults)
    grpc = Server([servicer(ModalClientBase, server), router.servicer()])
    listener = socket.create_server(("127.0.0.1", 0))
    server.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.env = {
        "MODAL_SERVER_URL": server.url,
        "MODAL_TOKEN_ID": "ak-stand-in",
        "MODAL_TOKEN_SECRET": server.key,
    }
    await grpc.start(sock=listener)
    try:
        yield server
    finally:
        server.faults.release()
        await server.close()
        grpc.close()
        with suppress(TimeoutError):  # a client may keep its connection
            async with asyncio.timeout(1):
                await grpc.wait_closed()


def _answered(call: Call, kind: Kind | None) -> None:
    if kind == "cut":
        raise call.cut()
    if kind == "lost_answer":
        raise GRPCError(*_REFUSALS[kind])


def _metadata(sandbox: ModalSandbox) -> Any:
    return api.SandboxHandleMetadata(app_id="ap-1", result=sandbox.result)


def _token() -> str:
    """A JWT, of which the SDK reads when it ends."""
    parts = ({"alg": "none"}, {"exp": int(time.time()) + 3600})
    encoded = (base64.urlsafe_b64encode(json.dumps(each).encode()).decode() for each in parts)
    return ".".join([*(each.rstrip("=") for each in encoded), "x"])
