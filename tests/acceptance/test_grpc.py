"""The engine's own door: health, reflection, and a session by gRPC alone."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from typing import Any, cast

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from brain_testing.api import Api
from brain_testing.desk import Desk, within
from brain_testing.plugin import StartBrain
from brain_testing.running import RunningBrain
from brainapi.session.v1 import session_pb2
from brainapi.session.v1 import session_service_pb2 as pb
from brainapi.session.v1.session_service_pb2_grpc import SessionServiceStub

SERVICE = "brainapi.session.v1.SessionService"
TENANT = "local"


@pytest.fixture
async def channel(brain: RunningBrain) -> AsyncIterator[grpc.aio.Channel]:
    target = f"unix:{brain.folder / 'engine.sock'}"
    async with grpc.aio.insecure_channel(target) as opened:
        yield opened


async def reflect(channel: grpc.aio.Channel, metadata: Any = (), **request: Any) -> Any:
    """The answer to one reflection request."""
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(cast("Any", channel))
    call = stub.ServerReflectionInfo(
        iter([reflection_pb2.ServerReflectionRequest(**request)]), timeout=20, metadata=metadata
    )
    return await anext(aiter(call))


@pytest.mark.parametrize("service", ["", SERVICE])
async def test_health_says_that_the_engine_serves(service: str, channel: grpc.aio.Channel) -> None:
    stub: Any = health_pb2_grpc.HealthStub(channel)
    answer = await stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=20)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


async def test_reflection_lists_the_services(channel: grpc.aio.Channel) -> None:
    answer = await reflect(channel, list_services="")
    names = {service.name for service in answer.list_services_response.service}
    assert {SERVICE, "grpc.health.v1.Health"} <= names


async def test_reflection_describes_the_session_service(channel: grpc.aio.Channel) -> None:
    answer = await reflect(channel, file_containing_symbol=SERVICE)
    (raw, *_) = answer.file_descriptor_response.file_descriptor_proto
    described = FileDescriptorProto.FromString(raw)
    (service,) = described.service
    methods = {method.name for method in service.method}
    assert {"CreateSession", "SendMessage", "WatchEvents", "InterruptTurn"} <= methods


@pytest.mark.requirement("EVT-02", "MODEL-03")
async def test_a_session_is_made_and_followed_by_grpc_alone(
    channel: grpc.aio.Channel, api: Api
) -> None:
    stub: Any = SessionServiceStub(channel)
    session_id = await a_session(stub)
    watch = stub.WatchEvents(timeout=20)
    await watch.write(
        pb.WatchEventsRequest(
            subscribe=pb.Subscribe(watch_id=7, tenant_id=TENANT, session_id=session_id)
        )
    )
    items = items_of(watch)
    joined = (await anext(items)).subscribed
    assert (joined.watch_id, joined.last_seq, joined.idle) == (7, 1, True)

    sent = await stub.SendMessage(a_message(session_id, "hi"), timeout=20)
    durable: list[Any] = []
    async for item in items:
        if item.event.seq:
            durable.append(item.event)
        if item.event.idle:
            break
    watch.cancel()

    assert durable[0].seq == sent.seq == 2
    assert [event.idle for event in durable] == [False] * (len(durable) - 1) + [True]
    assert durable[-1].type == "turn.completed"
    assert [json.loads(event.json) for event in durable] == await api.events(session_id, after=1)
    listed = await stub.ListEvents(
        pb.ListEventsRequest(tenant_id=TENANT, session_id=session_id, after=1), timeout=20
    )
    assert [event.json for event in listed.events] == [event.json for event in durable]


async def test_garbage_on_a_watch_stream_ends_it(channel: grpc.aio.Channel) -> None:
    untyped = cast("Any", channel)
    watch = untyped.stream_stream(f"/{SERVICE}/WatchEvents")(timeout=20)
    await watch.write(b"\xff" * 9)
    assert not any([each async for each in watch])
    stub: Any = SessionServiceStub(channel)
    assert (await stub.GetCatalog(pb.GetCatalogRequest(tenant_id=TENANT), timeout=20)).models


async def a_session(stub: Any, *tools: str) -> str:
    request = pb.CreateSessionRequest(
        tenant_id=TENANT,
        harness="pi",
        config=session_pb2.SessionConfig(model="demo/script", tools=tools, max_steps=10),
        metadata_json=b"{}",
    )
    return (await stub.CreateSession(request, timeout=20)).session.id


def a_message(session_id: str, text: str, **more: Any) -> pb.SendMessageRequest:
    content = session_pb2.ContentBlock(text=session_pb2.TextBlock(text=text))
    return pb.SendMessageRequest(tenant_id=TENANT, session_id=session_id, content=[content], **more)


async def items_of(watch: Any) -> AsyncIterator[Any]:
    """The items of a watch stream, one by one."""
    async for response in watch:
        for item in response.items:
            yield item


@pytest.mark.requirement("MSG-01", "REC-01")
async def test_callers_that_go_away_while_their_messages_are_written_leave_the_turns_alone(
    channel: grpc.aio.Channel, api: Api, brain: RunningBrain
) -> None:
    stub: Any = SessionServiceStub(channel)
    session_id = await a_session(stub)
    queue = pb.ListQueuedMessagesRequest(tenant_id=TENANT, session_id=session_id)
    with closing(sqlite3.connect(brain.folder / "brain.db", isolation_level=None)) as held:
        held.execute("BEGIN IMMEDIATE")  # nothing can be written now
        sending = [stub.SendMessage(a_message(session_id, text)) for text in ("one", "two")]
        async with asyncio.timeout(20):
            # Once one of them waits for the other's turn, the engine has them both.
            while not (await stub.ListQueuedMessages(queue)).messages:
                pass
        for call in sending:
            call.cancel()
        held.execute("ROLLBACK")
    await within(api.turn(session_id, "three"))
    happened = [event["type"] for event in await api.events(session_id)]
    assert (happened.count("message.user"), happened.count("turn.completed")) == (3, 3)


@pytest.mark.requirement("TOOL-03")
async def test_a_traceparent_that_is_none_is_passed_over(
    channel: grpc.aio.Channel, api: Api, desk: Desk
) -> None:
    stub: Any = SessionServiceStub(channel)
    session_id = await a_session(stub, "ask")
    await stub.SendMessage(a_message(session_id, "/call ask", traceparent="not-one\r\nX: y"))
    call = await desk.next_call()
    call.say("done")
    await api.until_idle(session_id)
    assert "traceparent" not in call.headers


@pytest.mark.requirement("AUTH-02")
async def test_another_tenants_session_is_not_found(channel: grpc.aio.Channel, api: Api) -> None:
    stub: Any = SessionServiceStub(channel)
    session_id = await api.create()
    request = pb.GetSessionRequest(tenant_id="somebody", session_id=session_id)
    with pytest.raises(grpc.aio.AioRpcError) as foreign:
        await stub.GetSession(request, timeout=20)
    missing_request = pb.GetSessionRequest(tenant_id=TENANT, session_id="ses_missing")
    with pytest.raises(grpc.aio.AioRpcError) as missing:
        await stub.GetSession(missing_request, timeout=20)
    assert foreign.value.code() is grpc.StatusCode.NOT_FOUND
    assert (foreign.value.code(), foreign.value.details()) == (
        missing.value.code(),
        missing.value.details(),
    )


ENGINE_KEY = "the-key-of-the-engine"


@pytest.fixture
async def tcp(
    start_brain: StartBrain, unused_tcp_port: int
) -> AsyncIterator[tuple[RunningBrain, grpc.aio.Channel]]:
    """A Brain whose engine listens on TCP, and a way to it."""
    engine = {"listen": f"127.0.0.1:{unused_tcp_port}", "key_env": "ENGINE_KEY"}
    brain = await start_brain(extra={"engine": engine}, env={"ENGINE_KEY": ENGINE_KEY})
    async with grpc.aio.insecure_channel(f"127.0.0.1:{unused_tcp_port}") as opened:
        yield brain, opened


Call = Callable[[grpc.aio.Channel, Any], Awaitable[object]]


async def list_sessions(channel: grpc.aio.Channel, metadata: Any) -> object:
    stub: Any = SessionServiceStub(channel)
    request = pb.ListSessionsRequest(tenant_id=TENANT)
    return await stub.ListSessions(request, timeout=20, metadata=metadata)


async def watch_nothing(channel: grpc.aio.Channel, metadata: Any) -> object:
    stub: Any = SessionServiceStub(channel)
    return await anext(aiter(stub.WatchEvents(timeout=20, metadata=metadata)))


async def list_services(channel: grpc.aio.Channel, metadata: Any) -> object:
    return await reflect(channel, metadata, list_services="")


@pytest.mark.requirement("AUTH-04")
@pytest.mark.parametrize("call", [list_sessions, watch_nothing, list_services])
@pytest.mark.parametrize("header", [None, "Bearer a-wrong-key", "Basic KEY", "KEY"])
async def test_on_tcp_every_call_needs_the_engines_key(
    header: str | None, call: Call, tcp: tuple[RunningBrain, grpc.aio.Channel]
) -> None:
    metadata = [("authorization", header.replace("KEY", ENGINE_KEY))] if header else []
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await call(tcp[1], metadata)
    assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
    assert ENGINE_KEY not in (refused.value.details() or "")


@pytest.mark.requirement("AUTH-04")
async def test_on_tcp_the_key_opens_the_engine_to_the_edge_and_to_others(
    tcp: tuple[RunningBrain, grpc.aio.Channel],
) -> None:
    brain, channel = tcp
    async with Api(brain.url, brain.key) as api:
        session_id = await api.create()
        await api.turn(session_id, "the edge has the key")
    stub: Any = SessionServiceStub(channel)
    listed = await stub.ListSessions(
        pb.ListSessionsRequest(tenant_id=TENANT),
        timeout=20,
        metadata=[("authorization", f"Bearer {ENGINE_KEY}")],
    )
    assert [session.id for session in listed.sessions] == [session_id]
