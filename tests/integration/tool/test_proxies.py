"""Proxies from the environment, with a proxy that runs as a process of its own (TOOL-07)."""

from pathlib import Path

import pytest

from brain_testing.certificates import self_signed
from brain_testing.raw_proxy import ProxyProcess
from brain_testing.raw_script import Reach, Read, UntilGone, answers, event, ok, streams
from brain_testing.tool_driver import ToolDriver, binding, said, start
from brain_testing.tool_server import ToolServer

pytestmark = pytest.mark.requirement("TOOL-07")


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy"])
async def test_http_goes_through_the_proxy_with_its_whole_url(
    variable: str, driver: ToolDriver
) -> None:
    async with ProxyProcess() as proxy, ToolServer(*answers(ok())) as server:
        url = server.url("/tools/a%2Fb?c=d", host="tools.example")
        call = start(driver.caller(binding(url), env={variable: proxy.url}))
        assert said(await call.result()) == "ok"
        assert await proxy.request() == f"POST {url} HTTP/1.1"
        assert server.requests[0].header("Host") == f"tools.example:{server.port}"
        assert server.counts() == {call.call_id: 1}


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy"])
async def test_https_goes_through_a_tunnel(
    variable: str, driver: ToolDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = self_signed(tmp_path, "tools.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    service = ToolServer(*answers(ok()), tls=certificate.server_context())
    async with ProxyProcess() as proxy, service as server:
        url = server.url(host="tools.example")
        call = start(driver.caller(binding(url, token="secret"), env={variable: proxy.url}))
        assert said(await call.result()) == "ok"
        assert await proxy.request() == f"CONNECT tools.example:{server.port} HTTP/1.1"
        assert server.requests[0].line == "POST /tools/test HTTP/1.1"
        assert server.counts() == {call.call_id: 1}


async def test_streams_come_through_the_proxy_as_they_are_sent(driver: ToolDriver) -> None:
    script = streams(event("progress", 1), event("result", ok()))
    async with ProxyProcess() as proxy, ToolServer(*script) as server:
        caller = driver.caller(
            binding(server.url(host="tools.example")), env={"HTTP_PROXY": proxy.url}
        )
        call = start(caller)
        assert said(await call.result()) == "ok"
        assert call.progress == [b"1"]


@pytest.mark.requirement("OUT-11")
async def test_an_interrupt_reaches_the_service_through_the_proxy(driver: ToolDriver) -> None:
    async with ProxyProcess() as proxy, ToolServer(Read(), Reach("read"), UntilGone()) as server:
        url = server.url(host="tools.example")
        call = start(driver.caller(binding(url), env={"HTTP_PROXY": proxy.url}))
        await server.reached("read")
        call.running.interrupt()
        assert (await call.result()).code == "interrupted"
        await server.gone()


async def test_the_proxys_own_credentials_are_taken_from_its_url(driver: ToolDriver) -> None:
    async with ProxyProcess() as proxy, ToolServer(*answers(ok())) as server:
        env = {"HTTP_PROXY": proxy.url.replace("//", "//me:s%40cret@")}
        url = server.url(host="tools.example")
        assert said(await start(driver.caller(binding(url), env=env)).result()) == "ok"
        assert (await proxy.request()).endswith("Proxy-Authorization: Basic bWU6c0BjcmV0")
        assert server.requests[0].header("Proxy-Authorization") is None


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_loopback_never_goes_through_the_proxy(host: str, driver: ToolDriver) -> None:
    async with ProxyProcess() as proxy, ToolServer(*answers(ok())) as server:
        env = {"HTTP_PROXY": proxy.url, "HTTPS_PROXY": proxy.url}
        call = start(driver.caller(binding(server.url(host=host)), env=env))
        assert said(await call.result()) == "ok"
        assert await proxy.rest() == []


@pytest.mark.requirement("OUT-03", "OUT-08")
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_is_not_there_is_a_failed_connection(
    scheme: str, driver: ToolDriver
) -> None:
    async with ProxyProcess() as proxy:
        env = {f"{scheme.upper()}_PROXY": proxy.url}
    url = f"{scheme}://tools.example/"
    result = await start(driver.caller(binding(url), env=env)).result()
    assert (result.code, result.unknown_outcome) == ("connection_failed", True)
    assert "The proxy could not be reached." in said(result)


@pytest.mark.requirement("OUT-03", "OUT-08")
async def test_a_proxy_that_refuses_a_tunnel_is_a_failed_connection(driver: ToolDriver) -> None:
    async with ProxyProcess(refuse_with="407 Proxy Authentication Required") as proxy:
        env = {"HTTPS_PROXY": proxy.url}
        result = await start(driver.caller(binding("https://tools.example/"), env=env)).result()
    assert (result.code, result.unknown_outcome) == ("connection_failed", True)
    assert "The proxy refused the connection." in said(result)


@pytest.mark.requirement("OUT-04")
async def test_a_proxy_that_refuses_a_request_is_an_http_error(driver: ToolDriver) -> None:
    async with ProxyProcess(refuse_with="403 Forbidden") as proxy:
        env = {"HTTP_PROXY": proxy.url}
        result = await start(driver.caller(binding("http://tools.example/"), env=env)).result()
    assert (result.code, result.unknown_outcome) == ("http_status", True)


async def test_hosts_in_no_proxy_are_reached_directly(driver: ToolDriver) -> None:
    # 0.0.0.0 is this machine too, and is no loopback address.
    async with ProxyProcess() as proxy, ToolServer(*answers(ok())) as server:
        tool = binding(server.url(host="0.0.0.0"))
        env = {"HTTP_PROXY": proxy.url}
        assert said(await start(driver.caller(tool, env=env)).result()) == "ok"
        excepted = env | {"NO_PROXY": "other.example, 0.0.0.0"}
        assert said(await start(driver.caller(tool, env=excepted)).result()) == "ok"
        assert len(await proxy.rest()) == 1
