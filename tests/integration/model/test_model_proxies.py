"""Providers are reached through a proxy if the environment names one, and loopback never is."""

from pathlib import Path

import pytest

from brain.engine.model.proxying import Proxy
from brain_testing.certificates import self_signed
from brain_testing.model_driver import KEY, ModelDriver, hear
from brain_testing.model_turns import asked
from brain_testing.raw_proxy import ProxyProcess
from brain_testing.raw_script import streams
from brain_testing.tool_server import ToolServer

SAYS_HI = b'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'


async def test_http_goes_through_the_proxy(driver: ModelDriver) -> None:
    async with ProxyProcess() as proxy, ToolServer(*streams(SAYS_HI)) as server:
        url = server.url("/v1", host="models.example")
        through = Proxy(proxy.url, "Basic bWU6c0BjcmV0")
        model = driver.model(url, proxy_for=lambda _: through)

        assert (await hear(model, asked())).text() == "Hi"
        line = await proxy.request()
        assert line.startswith(f"POST {url}/chat/completions HTTP/1.1")
        assert line.endswith("Basic bWU6c0BjcmV0")
        assert server.requests[0].header("Proxy-Authorization") is None


async def test_https_goes_through_a_tunnel_that_never_sees_the_key(
    driver: ModelDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = self_signed(tmp_path, "models.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    service = ToolServer(*streams(SAYS_HI), tls=certificate.server_context())
    async with ProxyProcess() as proxy, service as server:
        through = Proxy(proxy.url, "Basic bWU6c0BjcmV0")
        url = server.url("/v1", host="models.example")

        assert (await hear(driver.model(url, proxy_for=lambda _: through), asked())).text() == "Hi"
        line = await proxy.request()
        assert line.startswith(f"CONNECT models.example:{server.port} HTTP/1.1")
        assert line.endswith("Basic bWU6c0BjcmV0")
        assert server.requests[0].header("Authorization") == f"Bearer {KEY}"
        assert server.requests[0].header("Proxy-Authorization") is None


async def test_a_proxy_that_is_not_there_may_be_tried_again(driver: ModelDriver) -> None:
    async with ProxyProcess() as proxy:
        gone = Proxy(proxy.url)
    model = driver.model("http://models.example/v1", proxy_for=lambda _: gone)
    failure = (await hear(model, asked())).failure

    assert (failure.code, failure.transient) == ("connection_failed", True)
    assert "127.0.0.1" not in failure.message


async def test_a_proxy_that_refuses_a_tunnel_is_a_failed_connection(driver: ModelDriver) -> None:
    async with ProxyProcess(refuse_with="407 Proxy Authentication Required") as proxy:
        through = Proxy(proxy.url)
        model = driver.model("https://models.example/v1", proxy_for=lambda _: through)
        failure = (await hear(model, asked())).failure

    assert failure.code == "connection_failed"
    assert failure.message.endswith("The proxy refused the connection.")
