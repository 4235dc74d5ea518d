"""What a service receives: every header and byte of the request."""

import json
from pathlib import Path

import pytest

from brain_testing.raw_script import answers, ok
from brain_testing.tool_driver import ToolDriver, binding, start
from brain_testing.tool_server import ToolServer

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.requirement("TOOL-03")
async def test_the_request_has_these_headers_and_no_other(driver: ToolDriver) -> None:
    async with ToolServer(*answers(ok())) as server:
        await start(driver.caller(binding(server.url()))).result()
        (request,) = server.requests
        assert request.line == "POST /tools/test HTTP/1.1"
        assert sorted(request.fields) == [
            ("Accept", "application/json, text/event-stream"),
            ("Accept-Encoding", "identity"),
            ("Content-Length", str(len(request.body))),
            ("Content-Type", "application/json"),
            ("Host", f"127.0.0.1:{server.port}"),
            ("User-Agent", "brain"),
        ]


@pytest.mark.requirement("TOOL-03")
async def test_a_token_is_sent_as_a_bearer_token(driver: ToolDriver) -> None:
    async with ToolServer(*answers(ok())) as server:
        await start(driver.caller(binding(server.url(), token="t0k3n +/="))).result()
        assert server.requests[0].header("Authorization") == "Bearer t0k3n +/="


@pytest.mark.requirement("TOOL-03")
async def test_a_call_that_belongs_to_a_trace_hands_it_on(driver: ToolDriver) -> None:
    async with ToolServer(*answers(ok())) as server:
        await start(driver.caller(binding(server.url())), traceparent=TRACE).result()
        sent = server.requests[0].header("traceparent")
    assert sent is not None
    version, trace, span, flags = sent.split("-")
    assert (version, trace, flags) == ("00", TRACE.split("-")[1], "01")
    assert span != TRACE.split("-")[2]


@pytest.mark.requirement("TOOL-04")
async def test_the_body_is_compact_and_holds_the_sessions_identity(driver: ToolDriver) -> None:
    async with ToolServer(*answers(ok())) as server:
        caller = driver.caller(binding(server.url()))
        call = start(caller, '{ "b": 1, "a": [12345678901234567890, 1.0] }')
        await call.result()
        assert server.requests[0].body.decode() == (
            '{"tenant_id":"local","session_id":"ses_test","call_id":"' + call.call_id + '",'
            '"arguments":{"b":1,"a":[12345678901234567890,1.0]}}'
        )


@pytest.mark.requirement("TOOL-04")
async def test_the_model_cannot_speak_for_another_tenant(driver: ToolDriver) -> None:
    async with ToolServer(*answers(ok())) as server:
        caller = driver.caller(binding(server.url()))
        await start(caller, '{"tenant_id":"root","session_id":"ses_x","call_id":"c"}').result()
        body = server.requests[0].json
    assert (body["tenant_id"], body["session_id"]) == ("local", "ses_test")


@pytest.mark.requirement("TOOL-03")
@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("", "/"),
        ("/", "/"),
        ("?a=b", "/?a=b"),
        ("/a%2Fb", "/a%2Fb"),
        ("/a%2fb", "/a%2fb"),
        ("/a/../b", "/a/../b"),
        ("/a//b", "/a//b"),
        ("/a?", "/a?"),
        ("/{a}|b^c", "/{a}|b^c"),
        ("/a b", "/a%20b"),
        ("/a;b=c?d=e+f&g=%20", "/a;b=c?d=e+f&g=%20"),
        ("/a?b=c%2Bd", "/a?b=c%2Bd"),
        ("/~a'(b)*!", "/~a'(b)*!"),
        ("/é?ü=ö", "/%C3%A9?%C3%BC=%C3%B6"),
    ],
)
async def test_the_url_is_used_as_it_is_written(path: str, target: str, driver: ToolDriver) -> None:
    async with ToolServer(*answers(ok())) as server:
        result = await start(driver.caller(binding(server.url(path)))).result()
        assert not result.is_error
        assert server.requests[0].path == target


@pytest.mark.requirement("TOOL-04", "INS-01")
async def test_only_a_binding_that_asks_for_it_gets_an_inspection_token(
    driver: ToolDriver,
) -> None:
    async with ToolServer(*answers(ok())) as server:
        plain = binding(server.url(), name="plain")
        inspecting = binding(server.url(), name="inspecting", inspect_session=True)
        caller = driver.caller(plain, inspecting)
        await start(caller, name="plain").result()
        await start(caller, name="inspecting").result()
        first, second = server.requests
    assert list(first.json) == ["tenant_id", "session_id", "call_id", "arguments"]
    assert list(second.json) == [
        "tenant_id", "session_id", "call_id", "arguments", "inspection_token", "brain_url",
    ]  # fmt: skip
    assert second.json["brain_url"] == "http://127.0.0.1:8080"


@pytest.mark.requirement("TOOL-03")
async def test_nothing_of_one_call_is_sent_with_the_next(driver: ToolDriver) -> None:
    async with ToolServer(*answers(ok(), "Set-Cookie: id=1; Path=/")) as server:
        caller = driver.caller(
            binding(server.url(), name="first", token="secret"), binding(server.url(), name="next")
        )
        await start(caller, name="first").result()
        await start(caller, name="next").result()
        fields = {name for name, _ in server.requests[1].fields}
    assert not fields & {"Authorization", "Cookie", "traceparent"}


@pytest.mark.requirement("TOOL-07")
async def test_no_credentials_are_taken_from_a_netrc_file(
    driver: ToolDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("default login me password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    async with ToolServer(*answers(ok())) as server:
        await start(driver.caller(binding(server.url()))).result()
        assert server.requests[0].header("Authorization") is None


@pytest.mark.requirement("TOOL-02", "TOOL-04")
async def test_what_is_sent_is_what_the_events_show(driver: ToolDriver) -> None:
    arguments = '{"text":"line\\u2028separator \\" \\\\ é"}'
    async with ToolServer(*answers(ok())) as server:
        await start(driver.caller(binding(server.url())), arguments).result()
        assert server.requests[0].json["arguments"] == json.loads(arguments)
