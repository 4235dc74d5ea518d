"""What may become of the connection to a provider, on every dialect alike."""

import asyncio
import gzip
import socket
from contextlib import aclosing
from pathlib import Path

import pytest

from brain.engine.model.protocol import Answer, Delta, ModelRequest
from brain_core.content import TextBlock
from brain_core.usage import Usage
from brain_testing.certificates import self_signed
from brain_testing.desk import within
from brain_testing.model_driver import KEY, ModelDriver, hear
from brain_testing.model_turns import asked
from brain_testing.raw_script import (
    Close,
    Flood,
    Read,
    Reset,
    Script,
    Send,
    UntilGone,
    chunks,
    head,
    response,
    streams,
)
from brain_testing.tool_server import ToolServer

STREAM = head("text/event-stream", "Connection: close")
PIECE = b'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}\n\n'
STOP = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
DONE = b"data: [DONE]\n\n"
WHOLE = PIECE + STOP + DONE
CHUNKED = head("text/event-stream", "Transfer-Encoding: chunked")
HI = Answer((TextBlock("Hi"),), "end_turn", Usage())

CUT: dict[str, Script] = {
    "before the headers": (Read(), Close()),
    "in the headers": (Read(), Send(b"HTTP/1.1 200 OK\r\nContent-"), Close()),
    "after the headers": (Read(), Send(STREAM), Close()),
    "after an event": (Read(), Send(STREAM + PIECE), Close()),
    "in an event": (Read(), Send(STREAM + PIECE + STOP[:30]), Close()),
    "in a chunk": (Read(), Send(CHUNKED + chunks(PIECE + STOP[:9], last=False)[:-5]), Close()),
    "between chunks": (Read(), Send(CHUNKED + chunks(PIECE, last=False)), Close()),
    "before its length": (
        Read(),
        Send(head("text/event-stream", "Content-Length: 9999") + PIECE),
        Close(),
    ),
    "by a reset before the headers": (Read(), Reset()),
    "by a reset after an event": (Read(), Send(STREAM + PIECE), Reset()),
}


@pytest.mark.requirement("LOOP-03")
@pytest.mark.parametrize("place", CUT)
async def test_a_connection_that_breaks_off_may_be_tried_again(
    place: str, driver: ModelDriver
) -> None:
    async with ToolServer(*CUT[place]) as server:
        failure = (await driver.ask(server)).failure

    assert (failure.code, failure.transient) == ("connection_lost", True)
    assert failure.usage == Usage()


@pytest.mark.parametrize("end", [Close(), Reset()])
async def test_an_answer_that_is_whole_is_one_whatever_the_connection_does(
    end: Close | Reset, driver: ModelDriver
) -> None:
    async with ToolServer(Read(), Send(CHUNKED + chunks(WHOLE, last=False)), end) as server:
        assert (await driver.ask(server)).answer == HI


async def test_what_comes_after_the_end_is_not_read(driver: ModelDriver) -> None:
    script = (Read(), Send(STREAM + WHOLE), Flood(PIECE))
    async with ToolServer(*script) as server:
        assert (await driver.ask(server)).answer == HI
        await within(server.closed())


async def test_a_connection_is_used_again_after_a_whole_answer(driver: ModelDriver) -> None:
    async with ToolServer(Read(), Send(CHUNKED + chunks(WHOLE))) as server:
        model = driver.model(server)
        for _ in range(3):
            assert (await hear(model, asked())).answer == HI
        assert server.connections == 1


@pytest.mark.parametrize("at", ["the headers", "an event"])
async def test_closing_the_stream_closes_the_connection_at_once(
    at: str, driver: ModelDriver
) -> None:
    sent = (Send(STREAM + PIECE),) if at == "an event" else ()
    async with ToolServer(Read(), *sent, UntilGone()) as server:
        stream = driver.model(server).stream(asked())
        if at == "an event":
            assert await within(anext(stream)) == Delta("text", "Hi")
        else:
            first = asyncio.ensure_future(anext(stream))
            await within(_has_a_request(server))
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
        await stream.aclose()
        await within(server.gone())


@pytest.mark.requirement("LOOP-03")
async def test_a_provider_that_refuses_connections_may_be_tried_again(driver: ModelDriver) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        failure = (await hear(driver.model(url), asked())).failure

    assert (failure.code, failure.transient) == ("connection_failed", True)
    assert "127.0.0.1" not in failure.message


@pytest.mark.requirement("LOOP-03")
async def test_a_host_that_does_not_exist_is_said_without_its_name(driver: ModelDriver) -> None:
    failure = (await hear(driver.model("http://models.invalid/v1"), asked())).failure

    assert (failure.code, failure.transient) == ("connection_failed", True)
    assert failure.message == (
        "The model's provider could not be reached. Its host's name isn't known."
    )


@pytest.mark.requirement("LOOP-03")
async def test_a_certificate_that_is_not_trusted_is_a_failed_connection(
    driver: ModelDriver, tmp_path: Path
) -> None:
    certificate = self_signed(tmp_path)
    async with ToolServer(*streams(WHOLE), tls=certificate.server_context()) as server:
        failure = (await driver.ask(server)).failure

    assert failure.code == "connection_failed"
    assert failure.message.endswith("Its certificate isn't valid.")
    assert server.requests == []


async def test_certificates_that_the_machine_trusts_are_trusted(
    driver: ModelDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = self_signed(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    async with ToolServer(*streams(WHOLE), tls=certificate.server_context()) as server:
        assert (await driver.ask(server)).answer == HI


async def test_a_server_that_speaks_no_http_is_no_provider(driver: ModelDriver) -> None:
    async with ToolServer(Read(), Send(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), Close()) as server:
        failure = (await driver.ask(server)).failure

    assert (failure.code, failure.transient) == ("bad_stream", False)


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Redirect", "308 Redirect"])
async def test_no_redirect_is_followed(status: str, driver: ModelDriver) -> None:
    async with ToolServer(*streams(WHOLE)) as other:
        moved = response("", f"Location: {other.url('/v1')}", status=status)
        async with ToolServer(Read(), Send(moved)) as server:
            failure = (await driver.ask(server)).failure
        assert other.requests == []

    assert (failure.code, failure.transient) == ("bad_stream", False)
    assert failure.message.endswith("It was a redirect, which is not followed.")


PAGES: dict[str, Script] = {
    "as a page": (
        Read(),
        Send(
            response(
                "<html>Sign in at http://10.0.0.1</html>", content_type="text/html; charset=utf-8"
            )
        ),
    ),
    "as a stream": streams(b"<!DOCTYPE html>\n<html>\n<body>Sign in: here</body>\n</html>"),
    "without a type": (Read(), Send(response("<html>Sign in</html>", content_type=None))),
    "as text": (Read(), Send(response("Sign in", content_type="text/plain"))),
    "as JSON": (Read(), Send(response({"id": "x", "choices": []}))),
    "nothing": (Read(), Send(head(None, status="204 No Content"))),
    "no JSON in an event": streams(b"data: Sign in\n\n"),
    "another format": streams(b'data: {"choices":"none"}\n\n'),
    "a list": streams(b"data: []\n\n"),
    "nested without end": streams(b"data: " + b"[" * 100_000 + b"\n\n"),
}


@pytest.mark.parametrize("kind", PAGES)
async def test_what_is_no_answer_at_all_is_not_tried_again(kind: str, driver: ModelDriver) -> None:
    async with ToolServer(*PAGES[kind]) as server:
        failure = (await driver.ask(server)).failure

    assert (failure.code, failure.transient) == ("bad_stream", False)
    assert "Sign in" not in failure.message


async def test_a_compressed_answer_is_read(driver: ModelDriver) -> None:
    packed = gzip.compress(WHOLE)
    sent = head("text/event-stream", f"Content-Length: {len(packed)}", "Content-Encoding: gzip")
    async with ToolServer(Read(), Send(sent + packed, piece=5)) as server:
        assert (await driver.ask(server)).answer == HI
        assert server.requests[0].header("Accept-Encoding") == "identity"


async def test_a_broken_compression_is_a_lost_connection(driver: ModelDriver) -> None:
    sent = head("text/event-stream", "Content-Length: 7", "Content-Encoding: gzip") + b"not zip"
    async with ToolServer(Read(), Send(sent)) as server:
        failure = (await driver.ask(server)).failure

    assert failure.code in ("connection_lost", "bad_stream")


@pytest.mark.parametrize(
    "flood", [b"x" * 65536, b"data: " + b"x" * 65536, b"data: x\n" * 8192, b"\r" * 65536]
)
async def test_an_event_without_end_is_cut_off(flood: bytes, driver: ModelDriver) -> None:
    async with ToolServer(Read(), Send(STREAM), Flood(flood)) as server:
        failure = (await driver.ask(server)).failure
        await within(server.closed())

    assert (failure.code, failure.transient) == ("bad_stream", False)
    assert "larger" in failure.message


@pytest.mark.parametrize("kind", ["application/json", "text/plain"])
async def test_of_an_error_only_the_beginning_is_read(kind: str, driver: ModelDriver) -> None:
    script = (Read(), Send(head(kind, status="500 Oops")), Flood(b"y" * 65536))
    async with ToolServer(*script) as server:
        failure = (await driver.ask(server)).failure
        await within(server.closed())

    assert (failure.code, failure.transient) == ("provider_error", True)
    assert len(failure.message) < 500


async def test_an_error_whose_body_breaks_off_is_known_by_its_status(driver: ModelDriver) -> None:
    sent = head("application/json", "Content-Length: 99", status="401 Unauthorized") + b'{"error'
    async with ToolServer(Read(), Send(sent), Reset()) as server:
        assert (await driver.ask(server)).failure.code == "auth_failed"


async def test_a_request_that_is_no_unicode_is_not_sent(driver: ModelDriver) -> None:
    async with ToolServer(*streams(WHOLE)) as server:
        request = ModelRequest("m", asked().turns, system_prompt="\ud800")
        failure = (await driver.ask(server, request=request)).failure
        assert server.requests == []

    assert (failure.code, failure.transient) == ("bad_request", False)


async def test_models_of_one_provider_are_called_at_once(driver: ModelDriver) -> None:
    async with ToolServer(Read(), Send(STREAM + PIECE), UntilGone()) as server:
        model = driver.model(server)
        streams_ = [model.stream(asked()) for _ in range(20)]
        firsts = await within(asyncio.gather(*map(anext, streams_)))
        for stream in streams_:
            async with aclosing(stream):
                pass
        assert len(firsts) == server.connections == 20


async def test_the_key_is_sent_and_said_nowhere(driver: ModelDriver) -> None:
    refused = response({"error": {"message": f"No {KEY}"}}, status="401 Unauthorized")
    async with ToolServer(Read(), Send(refused)) as server:
        failure = (await driver.ask(server)).failure
        assert server.requests[0].header("Authorization") == f"Bearer {KEY}"

    assert KEY not in failure.message


async def _has_a_request(server: ToolServer) -> None:
    while not any(request.complete for request in server.requests):
        await asyncio.sleep(0)
