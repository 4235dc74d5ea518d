"""What the engine refuses of whoever calls it without an edge in between."""

import base64
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from brain_testing.api import Api
from brain_testing.running import RunningBrain
from brainapi.session.v1 import session_pb2
from brainapi.session.v1 import session_service_pb2 as pb
from brainapi.session.v1.session_service_pb2_grpc import SessionServiceStub

TENANT = "local"
NAN, INFINITY = float("nan"), float("inf")
PIXEL = "R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
TOO_LARGE = base64.b64encode(bytes(5 * 1024 * 1024 + 1)).decode()


@pytest.fixture
async def stub(brain: RunningBrain) -> AsyncIterator[Any]:
    target = f"unix:{brain.folder / 'engine.sock'}"
    async with grpc.aio.insecure_channel(target) as channel:
        yield SessionServiceStub(channel)


async def refused(call: Any) -> tuple[grpc.StatusCode, str, list[str]]:
    """The status, what is said, and the pointers of a call that must fail."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    trailer = caught.value.trailing_metadata()
    raw: Any = None if trailer is None else trailer.get("brain-error-bin")
    detail = session_pb2.ErrorDetail.FromString(raw or b"")
    pointers = [violation.pointer for violation in detail.violations]
    return caught.value.code(), caught.value.details() or "", pointers


def a_session(**config: Any) -> pb.CreateSessionRequest:
    return pb.CreateSessionRequest(
        tenant_id=TENANT,
        harness="pi",
        config=session_pb2.SessionConfig(model="demo/script", **config),
    )


@pytest.mark.requirement("LOOP-05")
@pytest.mark.parametrize(
    ("config", "pointer"),
    [
        ({"max_steps": 0}, "/config/max_steps"),
        ({"max_steps": -5}, "/config/max_steps"),
        ({"max_output_tokens": 0}, "/config/max_output_tokens"),
        ({"temperature": NAN}, "/config/temperature"),
        ({"temperature": INFINITY}, "/config/temperature"),
        ({"temperature": -0.1}, "/config/temperature"),
        ({"temperature": 2.1}, "/config/temperature"),
        ({"budget": {"tokens": 0}}, "/config/budget/tokens"),
        ({"budget": {"tokens": -1}}, "/config/budget/tokens"),
        ({"budget": {"cost_usd": 0.0}}, "/config/budget/cost_usd"),
        ({"budget": {"cost_usd": -1.0}}, "/config/budget/cost_usd"),
        ({"budget": {"cost_usd": NAN}}, "/config/budget/cost_usd"),
        ({"budget": {"cost_usd": INFINITY}}, "/config/budget/cost_usd"),
    ],
    ids=str,
)
async def test_a_config_that_means_nothing_is_refused_and_what_is_wrong_is_named(
    config: dict[str, Any], pointer: str, stub: Any
) -> None:
    code, _, pointers = await refused(stub.CreateSession(a_session(**config), timeout=20))
    assert (code, pointers) == (grpc.StatusCode.INVALID_ARGUMENT, [pointer])


async def test_everything_that_is_wrong_is_named_at_once(stub: Any) -> None:
    request = a_session(max_steps=0, temperature=NAN, tools=["nowhere"])
    _, _, pointers = await refused(stub.CreateSession(request, timeout=20))
    assert pointers == ["/config/tools/0", "/config/max_steps", "/config/temperature"]


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"max_steps": 1, "max_output_tokens": 1, "temperature": 0.0},
        {"temperature": 2.0, "budget": {"tokens": 1, "cost_usd": 0.000001}},
        {"budget": {}},
    ],
    ids=str,
)
async def test_the_ends_of_each_range_are_taken(config: dict[str, Any], stub: Any) -> None:
    assert (await stub.CreateSession(a_session(**config), timeout=20)).session.id


@pytest.mark.requirement("MSG-04")
@pytest.mark.parametrize(
    ("block", "pointer"),
    [
        ({"text": {"text": ""}}, "/content/0/text"),
        ({"image": {"data": "", "mime_type": "image/gif"}}, "/content/0/data"),
        ({"image": {"data": "no base64", "mime_type": "image/gif"}}, "/content/0/data"),
        ({"image": {"data": TOO_LARGE, "mime_type": "image/gif"}}, "/content/0/data"),
        ({"image": {"data": TOO_LARGE * 2, "mime_type": "image/gif"}}, "/content/0/data"),
        ({"image": {"data": PIXEL, "mime_type": "text/plain"}}, "/content/0/mime_type"),
        ({"image": {"data": PIXEL, "mime_type": "image/"}}, "/content/0/mime_type"),
    ],
    ids=["text", "nothing", "base64", "size", "twice the size", "text type", "half a type"],
)
async def test_a_block_that_no_model_could_be_given_is_refused(
    block: dict[str, Any], pointer: str, stub: Any, api: Api
) -> None:
    session_id = await api.create()
    request = pb.SendMessageRequest(
        tenant_id=TENANT, session_id=session_id, content=[session_pb2.ContentBlock(**block)]
    )
    code, _, pointers = await refused(stub.SendMessage(request, timeout=20))
    assert (code, pointers) == (grpc.StatusCode.INVALID_ARGUMENT, [pointer])
    assert (await api.session(session_id))["last_seq"] == 1


@pytest.mark.requirement("MSG-02")
async def test_a_word_that_the_engine_does_not_know_is_refused_and_the_known_ones_are_named(
    stub: Any, api: Api
) -> None:
    session_id = await api.create()
    request = pb.SendMessageRequest(
        tenant_id=TENANT,
        session_id=session_id,
        content=[session_pb2.ContentBlock(text=session_pb2.TextBlock(text="hi"))],
    )
    request.delivery = 99  # pyright: ignore[reportAttributeAccessIssue]
    code, said, _ = await refused(stub.SendMessage(request, timeout=20))
    thinking = a_session()
    thinking.config.thinking = 99  # pyright: ignore[reportAttributeAccessIssue]
    also, thought, _ = await refused(stub.CreateSession(thinking, timeout=20))

    assert code == also == grpc.StatusCode.INVALID_ARGUMENT
    assert "DELIVERY_STEER" in said
    assert "THINKING_LEVEL_LOW" in thought
