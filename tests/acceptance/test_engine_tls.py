"""Engine and edge on two machines: TLS by the host config, beside the engine's key."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from brain.wiring import StartError, running_engine
from brain_testing.api import Api
from brain_testing.certificates import self_signed
from brain_testing.commands import free_ports
from brain_testing.plugin import StartBrain
from brain_testing.reading import said
from brain_testing.running import RunningBrain
from brainapi.session.v1 import session_service_pb2 as pb
from brainapi.session.v1.session_service_pb2_grpc import SessionServiceStub

pytestmark = pytest.mark.requirement("AUTH-04")

ENGINE_KEY = "a-key-for-the-engine-alone"
Connect = Callable[..., Api]


def over_tls(folder: Path, **changes: Any) -> dict[str, Any]:
    """The host config's `engine`, on a port of its own, with a certificate made for it."""
    pem = str(self_signed(folder, "engine.internal").file)
    files = {"certificate_file": pem, "key_file": pem, "authority_file": pem, **changes}
    listen = f"127.0.0.1:{free_ports(1)[0]}"
    return {"engine": {"listen": listen, "key_env": "ENGINE_KEY", "tls": files}}


async def brain_with(start_brain: StartBrain, extra: dict[str, Any]) -> RunningBrain:
    return await start_brain(extra=extra, env={"ENGINE_KEY": ENGINE_KEY})


async def test_a_session_runs_over_tls(
    start_brain: StartBrain, connect: Connect, tmp_path: Path
) -> None:
    api = connect(await brain_with(start_brain, over_tls(tmp_path)))
    session_id = await api.create()
    assert said(await api.turn(session_id, "hi")) == "You said: hi"


async def test_the_name_in_the_certificate_may_be_given(
    start_brain: StartBrain, connect: Connect, tmp_path: Path
) -> None:
    api = connect(await brain_with(start_brain, over_tls(tmp_path, name="engine.internal")))
    assert await api.create()


@pytest.mark.parametrize("wrong", [{"name": "another.internal"}, {"authority_file": None}])
async def test_an_edge_sends_nothing_to_an_engine_that_it_can_not_trust(
    start_brain: StartBrain, connect: Connect, tmp_path: Path, wrong: dict[str, Any]
) -> None:
    api = connect(await brain_with(start_brain, over_tls(tmp_path, **wrong)))
    assert (await api.http.get("/readyz")).status_code == 503
    answer = await api.http.post("/sessions", json={"harness": "pi", "config": {}})
    assert answer.status_code in (422, 503)


async def test_nobody_gets_in_without_tls_or_without_the_key(
    start_brain: StartBrain, tmp_path: Path
) -> None:
    extra = over_tls(tmp_path)
    await brain_with(start_brain, extra)
    target, pem = extra["engine"]["listen"], (tmp_path / "certificate.pem").read_bytes()
    channels = {
        grpc.StatusCode.UNAVAILABLE: grpc.aio.insecure_channel(target),
        grpc.StatusCode.UNAUTHENTICATED: grpc.aio.secure_channel(
            target, grpc.ssl_channel_credentials(root_certificates=pem)
        ),
    }
    for code, channel in channels.items():
        async with channel:
            stub: Any = SessionServiceStub(channel)
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await stub.ListSessions(pb.ListSessionsRequest(tenant_id="local"), timeout=20)
            assert refused.value.code() is code


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"key_file": None}, "/engine/tls/key_file"),
        ({"certificate_file": "nowhere.pem"}, "nowhere.pem can't be read"),
        ({"certificate_file": "brain.json"}, "isn't a PEM file"),
    ],
)
async def test_what_an_engine_lacks_is_said_when_it_starts(
    start_brain: StartBrain, tmp_path: Path, files: dict[str, Any], why: str
) -> None:
    brain = await start_brain()
    await brain.stop_engine()
    brain.setup = type(brain.setup)(
        extra=over_tls(tmp_path, **files), env={"ENGINE_KEY": ENGINE_KEY}
    )
    with pytest.raises(StartError, match=why):
        async with running_engine(brain.config(), brain.env()):
            pass
