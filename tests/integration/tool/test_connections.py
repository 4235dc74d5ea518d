"""Connections: each call is sent at most once, whatever becomes of them (TOOL-05)."""

from pathlib import Path

import pytest

from brain.engine.tool.limits import Limits
from brain_testing.certificates import self_signed
from brain_testing.raw_script import (
    Close,
    Gate,
    Read,
    Reset,
    Send,
    Step,
    UntilGone,
    answers,
    ok,
    response,
)
from brain_testing.tool_driver import ToolDriver, binding, said, start
from brain_testing.tool_server import ToolServer


@pytest.mark.requirement("OUT-03")
async def test_a_refused_connection_has_an_unknown_outcome(driver: ToolDriver) -> None:
    async with ToolServer() as server:
        url = server.url()
    result = await start(driver.caller(binding(url))).result()
    assert (result.code, result.unknown_outcome) == ("connection_failed", True)


@pytest.mark.requirement("OUT-03")
async def test_a_host_that_has_no_address_is_named_as_the_cause(driver: ToolDriver) -> None:
    url = f"http://{'x' * 63}.invalid/tools/test"
    result = await start(driver.caller(binding(url))).result()
    assert (result.code, result.unknown_outcome) == ("connection_failed", True)
    assert "host name was not found" in said(result)


@pytest.mark.requirement("OUT-03", "OUT-08")
async def test_an_untrusted_certificate_is_named_as_the_cause(
    driver: ToolDriver, tmp_path: Path
) -> None:
    certificate = self_signed(tmp_path)
    async with ToolServer(*answers(ok()), tls=certificate.server_context()) as server:
        result = await start(driver.caller(binding(server.url()))).result()
        assert server.counts() == {}
    assert (result.code, result.unknown_outcome) == ("connection_failed", True)
    assert "TLS certificate" in said(result)


@pytest.mark.requirement("TOOL-03")
async def test_https_works_with_a_trusted_certificate(
    driver: ToolDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = self_signed(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    async with ToolServer(*answers(ok()), tls=certificate.server_context()) as server:
        result = await start(driver.caller(binding(server.url(host="localhost")))).result()
    assert said(result) == "ok"


@pytest.mark.requirement("TOOL-05")
async def test_a_connection_is_used_again_within_a_moment(driver: ToolDriver) -> None:
    async with ToolServer(*answers(ok())) as server:
        caller = driver.caller(binding(server.url()))
        for _ in range(3):
            await start(caller).result()
        assert server.connections == 1
        assert set(server.counts().values()) == {1}


@pytest.mark.requirement("TOOL-05")
async def test_a_connection_that_was_idle_for_longer_is_not_used_again(
    driver: ToolDriver,
) -> None:
    async with ToolServer(*answers(ok())) as server:
        caller = driver.caller(binding(server.url()), limits=Limits(reuse_seconds=0))
        for _ in range(3):
            await start(caller).result()
        assert server.connections == 3


@pytest.mark.requirement("TOOL-05")
async def test_a_kept_connection_that_the_server_closed_is_not_used_again(
    driver: ToolDriver,
) -> None:
    async with ToolServer(Read(), Send(response(ok())), Close()) as server:
        caller = driver.caller(binding(server.url()))
        await start(caller).result()
        await server.closed()
        assert said(await start(caller).result()) == "ok"
        assert server.connections == 2
        assert set(server.counts().values()) == {1}


@pytest.mark.requirement("TOOL-05", "OUT-03")
@pytest.mark.parametrize("ending", [Close(), Reset()])
async def test_a_kept_connection_that_breaks_under_the_next_call_is_not_tried_again(
    ending: Step, driver: ToolDriver
) -> None:
    async with ToolServer(*answers(ok())) as server:
        caller = driver.caller(binding(server.url()))
        await start(caller).result()
        server.plays(Read(), ending)
        second = start(caller)
        result = await second.result()
        assert (result.code, result.unknown_outcome) == ("connection_lost", True)
        assert server.connections == 1
        assert server.counts()[second.call_id] == 1


@pytest.mark.requirement("TOOL-05")
@pytest.mark.parametrize(
    "fault",
    [
        (Close(),),
        (Reset(),),
        (Read(head_only=True), Close()),
        (Read(head_only=True), Reset()),
        (Read(), Close()),
        (Read(), Reset()),
        (Read(), Send(b"HTTP/1.1 "), Close()),
        (Read(), Send(b"HTTP/1.1 "), Reset()),
        (Read(), Send(response(ok())[:-1]), Close()),
        (Read(), Send(response(ok())[:-1]), Reset()),
        (Read(), Send(response("", status="503 Try Again", content_type=None)), Close()),
        (Read(), Send(response("", "Retry-After: 0", status="429 Wait", content_type=None))),
        (Read(), Send(response("", "Location: /tools/test", status="307 Again"))),
        (Read(), Send(b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n"), Close()),
        (Read(), Send(b"HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\n\r\n")),
        (Read(), Send(b"HTTP/1.1 425 Too Early\r\nContent-Length: 0\r\n\r\n")),
    ],
)
async def test_no_fault_makes_a_call_be_sent_twice(
    fault: tuple[Step, ...], driver: ToolDriver
) -> None:
    async with ToolServer(*answers(ok())) as server:
        caller = driver.caller(binding(server.url()))
        await start(caller).result()  # leaves a connection that could be tried first
        server.plays(*fault)
        call = start(caller)
        assert (await call.result()).unknown_outcome
        server.plays(*answers(ok()))
        await start(caller).result()
        assert server.counts()[call.call_id] <= 1


@pytest.mark.requirement("TOOL-05")
async def test_a_host_with_several_addresses_gets_the_call_once(driver: ToolDriver) -> None:
    # `localhost` may be ::1 and 127.0.0.1; the server listens on the second only.
    async with ToolServer(*answers(ok())) as server:
        call = start(driver.caller(binding(server.url(host="localhost"))))
        assert said(await call.result()) == "ok"
        assert server.counts() == {call.call_id: 1}


@pytest.mark.requirement("OUT-10")
async def test_an_answer_to_a_request_that_is_not_read_leaves_nothing_open(
    driver: ToolDriver,
) -> None:
    arguments = '{"text":"' + "x" * 8_000_000 + '"}'
    async with ToolServer(Send(response(ok())), Gate("answered"), UntilGone()) as server:
        call = start(driver.caller(binding(server.url())), arguments)
        assert said(await call.result()) == "ok"
        server.open("answered")
        await server.closed()
        assert server.drained < 8_000_000


@pytest.mark.requirement("TOOL-08")
async def test_many_calls_at_once_wait_for_none_of_the_others(driver: ToolDriver) -> None:
    async with ToolServer() as server:
        server.plays(Read(), Gate("slow"), Send(response(ok("slow"))), path="/slow")
        server.plays(*answers(ok("fast")), path="/fast")
        caller = driver.caller(
            binding(server.url("/slow"), name="slow"), binding(server.url("/fast"), name="fast")
        )
        slow = [start(caller, name="slow") for _ in range(200)]
        for _ in slow:
            await server.reached("slow")
        assert said(await start(caller, name="fast").result()) == "fast"
        server.open("slow")
        for call in slow:
            assert said(await call.result()) == "slow"
        assert set(server.counts().values()) == {1}


@pytest.mark.requirement("OUT-03")
async def test_a_server_that_speaks_no_tls_is_a_failed_connection(driver: ToolDriver) -> None:
    async with ToolServer(Send(b"220 mail.example ESMTP\r\n"), UntilGone()) as server:
        url = server.url().replace("http:", "https:")
        result = await start(driver.caller(binding(url))).result()
    assert (result.code, result.unknown_outcome) == ("connection_failed", True)
