"""The protocol between Brain and a tool service, case by case. `README.md` says how to read it.

Each case of `brain_testing.tool_cases` is played through the HTTP API: a session, a message, a
model that calls the case's tool, a service that does byte for byte what the case says. Here is
what must then be true of everyone who sees something of it.
"""

import msgspec
import pytest
from msgspec import UnsetType

from brain_core.content import TextBlock
from brain_testing.raw_request import RawRequest
from brain_testing.tool_cases import ALL_CASES, Case
from brain_testing.tool_stage import TOKEN, Seen, Stage

pytestmark = pytest.mark.asyncio(loop_scope="module")


def _cases() -> list[object]:
    return [
        pytest.param(case, id=case.name, marks=pytest.mark.requirement(*case.proves, "TOOL-09"))
        for case in ALL_CASES
    ]


@pytest.mark.parametrize("case", _cases())
async def test_what_a_service_does_decides_what_everyone_sees(case: Case, stage: Stage) -> None:
    seen = await stage.play(case)
    event_has(case, seen)
    model_is_told(case, seen)
    clients_follow(case, seen)
    service_receives(case, seen)
    failure_tells_no_secret(seen)


def event_has(case: Case, seen: Seen) -> None:
    """One `tool.result` for the one `tool.call`: the outcome, the code, the content as sent."""
    (result,) = seen.results
    expect = case.expect
    assert seen.calls == [result.call_id]
    assert (result.is_error, result.unknown_outcome) == (expect.is_error, expect.unknown_outcome)
    assert result.code == expect.code
    if expect.content is None:
        (block,) = result.content
        assert expect.says in block["text"]
    else:
        assert result.content == expect.content
    structured = result.structured_content
    text = None if isinstance(structured, UnsetType) else bytes(structured).decode()
    assert text == expect.structured


def model_is_told(case: Case, seen: Seen) -> None:
    """What the event says, as content that any model can read."""
    (result,) = seen.results
    assert seen.told.is_error == case.expect.is_error
    assert list(msgspec.to_builtins(seen.told.content)) == result.content
    assert result.content, "a model must be told something"


def clients_follow(case: Case, seen: Seen) -> None:
    """Each progress payload, compact, in order; none after the result."""
    assert seen.progress == case.expect.progress


def service_receives(case: Case, seen: Seen) -> None:
    """The call, once or not at all, on a connection of its own, exactly as documented."""
    service = seen.service
    assert service.connections == case.expect.sent
    assert all(count == 1 for count in service.counts().values())
    for request in service.requests:
        request_is_exact(request, service.port)
        if request.complete:
            body_is_exact(case, seen, request)


def request_is_exact(request: RawRequest, port: int) -> None:
    """The request line and every header: these and no others."""
    assert request.line == "POST /tools/test HTTP/1.1"
    headers = {name.lower(): value for name, value in request.fields}
    assert len(headers) == len(request.fields)
    length = headers.pop("content-length")
    assert headers == {
        "host": f"127.0.0.1:{port}",
        "user-agent": "brain",
        "accept": "application/json, text/event-stream",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "authorization": f"Bearer {TOKEN}",
    }
    assert int(length) == len(request.body) or not request.complete


def body_is_exact(case: Case, seen: Seen, request: RawRequest) -> None:
    """The session's identity, and the arguments as the model wrote them."""
    (call_id,) = seen.calls
    arguments = case.expect.arguments or case.arguments
    session = f'"session_id":"{seen.session_id}","call_id":"{call_id}"'
    expected = f'{{"tenant_id":"local",{session},"arguments":{arguments}}}'
    assert request.body == expected.encode()


def failure_tells_no_secret(seen: Seen) -> None:
    """Not where the service is, not the token, nothing of a response that wasn't 2xx."""
    (result,) = seen.results
    if result.code is not None:
        (block,) = seen.told.content
        assert isinstance(block, TextBlock)
        for secret in (f":{seen.service.port}", "127.0.0.1", "/tools/", TOKEN, "a secret of"):
            assert secret not in block.text
