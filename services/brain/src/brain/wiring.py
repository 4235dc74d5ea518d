"""The only place where the parts are built and joined. Above: `main`, `cli`. Below: everything.

Two processes come out of here: the engine, and the edge that speaks gRPC to it.
"""

import asyncio
import os
import signal
import socket
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
import uvicorn
from msgspec import Raw, Struct

from brain.config.bindings import ToolBinding
from brain.config.check import CheckedConfig
from brain.config.host import EngineConfig, EngineTlsConfig, split_listen
from brain.config.store import is_postgres, sqlite_path
from brain.edge.app import create_app
from brain.edge.http import BoundedHttp
from brain.edge.server import EdgeServer
from brain.edge.settings import EdgeSettings, EngineTls
from brain.engine.advertised import advertised
from brain.engine.harness.protocol import KnownModels
from brain.engine.harness.registry import harnesses
from brain.engine.housekeeping import Times
from brain.engine.log.opening import LogCannotOpen
from brain.engine.log.postgres import open_postgres
from brain.engine.log.postgres_lease import LeaseTimes
from brain.engine.log.protocol import EventLog
from brain.engine.log.sqlite import open_sqlite
from brain.engine.model.protocol import Model
from brain.engine.model.providers import build_models
from brain.engine.model.proxying import Proxy
from brain.engine.model.registry import ModelRegistry
from brain.engine.server import Engine, EngineAddress, EngineIdentity
from brain.engine.servicer import SessionServicer
from brain.engine.session.commands import Commands
from brain.engine.session.creation import Creation
from brain.engine.session.fanout import Fanout
from brain.engine.session.manager import SessionManager
from brain.engine.session.once import Once
from brain.engine.session.waking import Parts
from brain.engine.tool.catalog import Binding, Catalog
from brain.engine.tool.dispatch import HttpToolCaller
from brain.engine.tool.http_target import parse_target
from brain.engine.tool.inspection import Inspections
from brain.engine.tool.limits import Limits
from brain.engine.tool.proxy import Proxies
from brain.engine.tool.schema import BadSchema
from brain_core.clock import Clock, SystemClock


class StartError(Exception):
    """A process can't start; its message is one clear line for the operator."""


class Tuning(Struct, frozen=True):
    """What tests change and operators don't. `models` are further providers by their names.

    `known` is what is known of models in place of the price table. `around_log` puts something
    between the engine and its log.
    """

    clock: Clock = SystemClock()
    limits: Limits = Limits()
    rest_after_seconds: float = 30.0
    lease: LeaseTimes = LeaseTimes()
    models: Mapping[str, Model] = {}
    known: KnownModels | None = None
    around_log: Callable[[EventLog], EventLog] | None = None


_UNTUNED = Tuning()


async def serve_engine(config: CheckedConfig) -> None:
    """Run the engine until SIGTERM or SIGINT. Raises: StartError."""
    stopped = _stop_signal()
    async with running_engine(config):
        await stopped.wait()


async def serve_edge(config: CheckedConfig) -> None:
    """Run the edge until SIGTERM or SIGINT. Raises: StartError."""
    stopped = _stop_signal()
    async with running_edge(config):
        await stopped.wait()


@asynccontextmanager
async def running_engine(
    config: CheckedConfig, env: Mapping[str, str] = os.environ, tuning: Tuning = _UNTUNED
) -> AsyncGenerator[Engine]:
    """An engine that serves while the block runs. Raises: StartError."""
    async with AsyncExitStack() as stack:
        log = await _open_log(config, tuning)
        stack.push_async_callback(log.close)
        if tuning.around_log is not None:
            log = tuning.around_log(log)
        catalog = _catalog(config)
        inspections = Inspections()
        caller = _tool_caller(config, catalog, inspections, env, tuning, _lease_on(log))
        stack.push_async_callback(caller.aclose)
        models = _models(config, env, tuning)
        stack.push_async_callback(models.aclose)
        kinds = harnesses(tuning.known or models, tuning.clock)
        parts = Parts(log, Fanout(), tuning.clock, kinds, models, caller)
        engine = _engine(config, parts, catalog, inspections, tuning)
        stack.push_async_callback(engine.stop)
        await engine.start()
        yield engine


@asynccontextmanager
async def running_edge(config: CheckedConfig) -> AsyncGenerator[str]:
    """An edge that serves while the block runs; gives its URL. Raises: StartError."""
    listener = _listen(config.host.listen)
    settings = EdgeSettings(
        engine_targets=tuple(config.host.engine.connect or ()),
        engine_tls=_edge_tls(config.host.engine.tls),
        engine_key=config.engine_key,
        api_keys=config.api_keys,
        public_url=config.host.public_url,
    )
    app = create_app(settings)
    server = EdgeServer(
        uvicorn.Config(
            app,
            http=BoundedHttp,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=75,  # longer than clients keep connections: else they race
            timeout_graceful_shutdown=5,
        ),
        app,
    )
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield _url_of(listener)
    finally:
        server.should_exit = True
        await serving


def _catalog(config: CheckedConfig) -> Catalog:
    try:
        return Catalog(_binding(config, tool) for tool in config.host.tools)
    except BadSchema as error:
        raise StartError(f"A schema can't be used: {error}.") from error


def _lease_on(log: EventLog) -> Callable[[], bool]:
    """Whether the engine still owns, for sure, what it owned."""
    return lambda: time.monotonic() < log.lease_ends()


def _tool_caller(
    config: CheckedConfig,
    catalog: Catalog,
    inspections: Inspections,
    env: Mapping[str, str],
    tuning: Tuning,
    may_send: Callable[[], bool],
) -> HttpToolCaller:
    try:
        return HttpToolCaller(
            catalog,
            inspections,
            brain_url=config.host.public_url,
            env=env,
            limits=tuning.limits,
            clock=tuning.clock,
            may_send=may_send,
        )
    except ValueError as error:  # a proxy variable; the message never repeats its value
        raise StartError(f"Tools can't be called: {error}.") from None


def _engine(
    config: CheckedConfig,
    parts: Parts,
    catalog: Catalog,
    inspections: Inspections,
    tuning: Tuning,
) -> Engine:
    creation = Creation(parts.harnesses, parts.models, catalog, parts.clock)
    once = Once(parts.log, parts.clock)
    manager = SessionManager(parts, once)
    commands = Commands(parts, manager, creation, once)
    offered = (tuple(parts.harnesses), parts.models.names())
    servicer = SessionServicer(commands, manager, parts.fanout, catalog, inspections, offered)
    tls = _engine_tls(config.host.engine)
    address = EngineAddress(config.host.engine.listen, config.engine_key, tls)
    _make_room_for_socket(address.target)
    try:
        host = config.host
        times = Times(tuning.rest_after_seconds, host.shutdown_grace_seconds, host.retention_days)
        return Engine(address, servicer, manager, times, parts.clock)
    except RuntimeError as error:
        raise StartError(f"The engine can't listen on {address.target}: {error}") from error


def _engine_tls(engine: EngineConfig) -> EngineIdentity | None:
    tls = engine.tls
    if tls is None or engine.listen.startswith("unix:"):
        return None
    if tls.certificate_file is None or tls.key_file is None:
        raise StartError("The engine needs /engine/tls/certificate_file and /engine/tls/key_file.")
    return EngineIdentity(_pem(tls.certificate_file), _pem(tls.key_file))


def _edge_tls(tls: EngineTlsConfig | None) -> EngineTls | None:
    if tls is None:
        return None
    authority = tls.authority_file
    return EngineTls(None if authority is None else _pem(authority), tls.name)


def _pem(path: str) -> bytes:
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise StartError(f"{path} can't be read: {error.strerror}.") from error
    if b"-----BEGIN " not in text:
        raise StartError(f"{path} isn't a PEM file: it must have a line that begins -----BEGIN.")
    return text


def _make_room_for_socket(target: str) -> None:
    if target.startswith("unix:"):
        folder = Path(target.removeprefix("unix:")).parent
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StartError(f"No socket can be made in {folder}: {error.strerror}.") from error


def _models(config: CheckedConfig, env: Mapping[str, str], tuning: Tuning) -> ModelRegistry:
    """The models, reached through the same proxies as tools."""
    proxies = Proxies(env)

    def proxy_for(url: str) -> Proxy | None:
        proxy = proxies.for_target(parse_target(url))
        if proxy is None:
            return None
        host = f"[{proxy.host}]" if ":" in proxy.host else proxy.host
        scheme = "https" if proxy.tls else "http"
        return Proxy(f"{scheme}://{host}:{proxy.port}", proxy.authorization)

    return build_models(config, proxy_for=proxy_for, clock=tuning.clock, more=tuning.models)


async def _open_log(config: CheckedConfig, tuning: Tuning) -> EventLog:
    try:
        if is_postgres(config.host.store):
            engine = config.host.engine
            address = engine.advertise or advertised(engine.listen)
            return await open_postgres(config.host.store, address, tuning.lease)
        return await open_sqlite(sqlite_path(config.host.store))
    except LogCannotOpen as error:
        raise StartError(str(error)) from error


def _binding(config: CheckedConfig, tool: ToolBinding) -> Binding:
    return Binding(
        name=tool.name,
        description=tool.description,
        input_schema=_raw(tool.input_schema),
        output_schema=None if tool.output_schema is None else _raw(tool.output_schema),
        url=tool.url,
        token=config.tool_tokens.get(tool.name),
        tenants=frozenset(tool.tenants),
        timeout_seconds=tool.timeout_seconds,
        max_output_bytes=tool.max_output_bytes,
        inspect_session=tool.inspect_session,
        mcp_tool=tool.mcp_tool,
    )


def _raw(schema: object) -> Raw:
    return Raw(msgspec.json.encode(schema))


def _listen(address: str) -> socket.socket:
    host, port = split_listen(address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol said, or asyncio sets no TCP_NODELAY and each answer may wait 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise StartError(f"The edge can't listen on {address}: {error.strerror}.") from error
    listener.listen(2048)
    return listener


def _url_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _stop_signal() -> asyncio.Event:
    """An event that SIGTERM and SIGINT set, in place of what they do by themselves."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    return stopped
