"""What a service stands on: resources, metrics, logs, routes of its own."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from brain_testing.commands import free_ports
from tool_service import CannotServe, ToolError, ToolService

pytestmark = pytest.mark.requirement("SVC-01")
Start = Callable[[ToolService], Awaitable[httpx2.AsyncClient]]
Body = Callable[..., dict[str, Any]]


class Shop:
    """A resource: it knows whether it is open."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.open = True


class Till:
    """A resource that stands on another."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop


@pytest.fixture
def shops(service: ToolService) -> list[Shop]:
    """Gives the service a shop, a till, a tool and a route; the list has what was opened."""
    opened: list[Shop] = []

    @service.resource
    async def shop(data: Path) -> AsyncGenerator[Shop]:
        opened.append(Shop(data))
        yield opened[-1]
        opened[-1].open = False

    @service.resource
    async def till(shop: Shop) -> AsyncGenerator[Till]:
        yield Till(shop)

    @service.tool("Pay.")
    async def pay(cents: int, till: Till) -> str:
        return f"{cents} cents, {till.shop.open}"

    async def sign(_request: Request) -> PlainTextResponse:
        return PlainTextResponse("open" if service.opened(Shop).open else "closed")

    service.routes.append(Route("/sign", sign))
    return opened


async def test_a_tool_is_given_the_resources_that_it_asks_for(
    service: ToolService, shops: list[Shop], start: Start, call: Body
) -> None:
    http = await start(service)
    answer = await http.post("/tools/pay", json=call(cents=5))

    assert answer.json()["content"][0]["text"] == "5 cents, True"
    assert list(service.tools["pay"].input_schema["properties"]) == ["cents"]
    assert (await http.get("/sign")).text == "open"
    assert shops[0].data.is_dir()


async def test_a_model_can_not_stand_in_for_a_resource(
    service: ToolService, shops: list[Shop], start: Start, call: Body
) -> None:
    http = await start(service)
    answer = await http.post("/tools/pay", json=call(cents=5, till="mine"))

    assert answer.json()["is_error"] is True


async def test_resources_are_closed_when_the_service_stops(
    service: ToolService, shops: list[Shop], tmp_path: Path
) -> None:
    async with service.running(None, data=tmp_path):
        assert shops[0].open
    assert not shops[0].open


async def test_a_resource_that_can_not_open_keeps_the_service_from_starting(
    service: ToolService, tmp_path: Path
) -> None:
    @service.resource
    async def broken() -> AsyncGenerator[Shop]:
        raise CannotServe("SHOP_ADDRESS isn't set.")
        yield  # which makes it a generator

    with pytest.raises(CannotServe, match="SHOP_ADDRESS"):
        async with service.running(None, data=tmp_path):
            raise AssertionError


async def test_what_a_resource_gives_must_be_said(service: ToolService) -> None:
    async def unsaid():
        yield Shop(Path())

    with pytest.raises(TypeError, match="unsaid must be annotated"):
        service.resource(unsaid)


async def test_metrics_are_at_an_address_of_their_own(
    service: ToolService, tmp_path: Path, call: Body
) -> None:
    @service.tool("Refuse.")
    async def refuse() -> str:
        raise ToolError("no")

    (port,) = free_ports(1)
    metrics = ("127.0.0.1", port)
    async with (
        service.running(None, data=tmp_path, metrics=metrics) as url,
        httpx2.AsyncClient(trust_env=False) as http,
    ):
        await http.post(f"{url}/tools/refuse", json=call())
        await http.post(f"{url}/tools/other", json=call())
        public = await http.get(f"{url}/metrics")
        found = (await http.get(f"http://127.0.0.1:{port}/metrics")).text

    assert public.status_code == 404
    assert 'tool_call_seconds_count{outcome="error",tool="refuse"} 1.0' in found
    assert 'tool_calls_running{tool="refuse"} 0.0' in found
    assert 'tool_calls_refused_total{reason="tool"} 1.0' in found
    assert "process_cpu_seconds_total" in found


async def test_each_call_is_one_line_of_the_log_and_none_has_a_secret(
    service: ToolService, start: Start, call: Body, capsys: pytest.CaptureFixture[str]
) -> None:
    @service.tool("Fail.")
    async def fail(secret: str) -> str:
        raise ValueError(secret)

    http = await start(service)
    body = {**call(secret="hunter2"), "inspection_token": "insp_1", "brain_url": "http://b"}
    trace = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
    await http.post("/tools/fail", json=body, headers=trace)

    said = "".join(capsys.readouterr())
    assert body["call_id"] in said
    assert "4bf92f3577b34da6a3ce929d0e0e4736" in said
    assert "ValueError at fail" in said
    for secret in ("hunter2", "insp_1", "the-token-of-the-test-service"):
        assert secret not in said


def test_a_whole_host_config_is_printed_for_the_tenants_that_are_named(
    service: ToolService, shops: list[Shop], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        service.main(["host-config", "--tenant", "a", "--tenant", "b-c"])

    document = json.loads(capsys.readouterr().out)
    assert document["tenants"] == [
        {"id": "a", "api_keys_env": ["BRAIN_API_KEY_A"]},
        {"id": "b-c", "api_keys_env": ["BRAIN_API_KEY_B_C"]},
    ]
    assert document["tools"] == service.bindings("http://127.0.0.1:8090", ["a", "b-c"])
