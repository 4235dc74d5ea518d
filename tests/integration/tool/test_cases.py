"""The table of cases, driven through the door that the harness uses."""

import msgspec
import pytest
from msgspec import UnsetType

from brain_core.content import ToolResult
from brain_testing.raw_request import RawRequest
from brain_testing.tool_cases import ALL_CASES, Case
from brain_testing.tool_driver import ToolDriver, binding, said, start
from brain_testing.tool_server import ToolServer

TOKEN = "t0k3n-of-the-service"


def _cases() -> list[object]:
    return [
        pytest.param(case, id=case.name, marks=pytest.mark.requirement(*case.proves))
        for case in ALL_CASES
    ]


@pytest.mark.parametrize("case", _cases())
async def test_what_a_service_does_decides_what_the_call_comes_to(
    case: Case, driver: ToolDriver
) -> None:
    async with ToolServer(*case.script) as server:
        call = start(
            driver.caller(binding(server.url(), token=TOKEN, **case.binding)), case.arguments
        )
        result = await call.result()
        assert_result(case, result)
        assert call.progress == [payload.encode() for payload in case.expect.progress]
        assert server.counts()[call.call_id] <= 1
        assert server.connections == case.expect.sent
        assert_received(case, server.requests)
        assert_tells_no_secret(result, server)


def assert_result(case: Case, result: ToolResult) -> None:
    expect = case.expect
    assert (result.is_error, result.unknown_outcome) == (expect.is_error, expect.unknown_outcome)
    assert (None if isinstance(result.code, UnsetType) else result.code) == expect.code
    if expect.content is not None:
        assert msgspec.json.decode(msgspec.json.encode(result.content)) == expect.content
    else:
        assert expect.says in said(result)
    structured = result.structured_content
    text = None if isinstance(structured, UnsetType) else bytes(structured).decode()
    assert text == expect.structured


def assert_received(case: Case, requests: list[RawRequest]) -> None:
    if case.expect.arguments is not None:
        (request,) = requests
        _, _, arguments = request.body.partition(b'"arguments":')
        assert arguments[:-1].decode() == case.expect.arguments


def assert_tells_no_secret(result: ToolResult, server: ToolServer) -> None:
    """Not where the service is, not the token, nothing of a response that wasn't 2xx."""
    if not isinstance(result.code, UnsetType):
        for secret in (f":{server.port}", "127.0.0.1", "/tools/", TOKEN, "a secret of"):
            assert secret not in said(result)


def test_every_case_has_a_name_of_its_own() -> None:
    names = [case.name for case in ALL_CASES]
    assert len(set(names)) == len(names) >= 150
