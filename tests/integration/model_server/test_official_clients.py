"""The official clients understand all that the scripted server says: it can't drift from the truth.

They check each event against their own types, and `Heard` is what they made of the answer.
"""

from typing import Any

import pytest

from brain_testing.model_server import (
    DIALECTS,
    Call,
    Cut,
    Dialect,
    Finish,
    Gate,
    More,
    Recorded,
    Refuse,
    Say,
    Status,
    StreamError,
    Think,
    Used,
    encrypted_of,
    model_server,
    signature_of,
)
from brain_testing.model_server.recordings import RECORDED, SAID, THOUGHT
from brain_testing.model_server.valid_requests import VALID

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)
both_ways = pytest.mark.parametrize("way", ["streamed", "whole"])

_SEAL = {
    "openai-chat": [],
    "openai-responses": [encrypted_of("Hm, well.")],
    "anthropic-messages": [signature_of("Hm, well.")],
}
_FINISH = {
    "openai-chat": {"said": "stop", "called": "tool_calls", "cut": "length"},
    "openai-responses": {"said": "completed", "called": "completed", "cut": "max_output_tokens"},
    "anthropic-messages": {"said": "end_turn", "called": "tool_use", "cut": "max_tokens"},
}


@every_dialect
@both_ways
async def test_an_answer_with_all_there_is(dialect: Dialect, way: str, official: Any) -> None:
    used = Used(input=20, output=9, cached=7, written=3, reasoning=4)
    script = (Think("Hm, well."), Say("I'll ask, "), Say("both."), Call("a", '{"q":1}'), used)
    async with model_server(script) as server:
        heard = await getattr(official(dialect, server), way)()

    assert heard.text == "I'll ask, both."
    assert heard.thinking == "Hm, well."
    assert heard.seals == _SEAL[dialect]
    assert heard.calls == [("a", {"q": 1})]
    assert heard.finish == _FINISH[dialect]["called"]
    assert heard.used == used


@every_dialect
@both_ways
async def test_four_calls_whose_pieces_come_in_turn(
    dialect: Dialect, way: str, official: Any
) -> None:
    begins = tuple(Call(f"t{place}", '{"place":') for place in range(4))
    ends = tuple(More(place, f'{place},"long":"{"x" * 20}"}}') for place in (2, 0, 3, 1))
    async with model_server((*begins, *ends)) as server:
        heard = await getattr(official(dialect, server), way)()

    assert heard.calls == [(f"t{n}", {"place": n, "long": "x" * 20}) for n in range(4)]


@every_dialect
@both_ways
async def test_a_call_without_arguments(dialect: Dialect, way: str, official: Any) -> None:
    async with model_server((Call("now", "{}"),)) as server:
        heard = await getattr(official(dialect, server), way)()

    assert heard.calls == [("now", {})]


@every_dialect
@both_ways
async def test_a_refusal(dialect: Dialect, way: str, official: Any) -> None:
    async with model_server((Refuse("I can't help with that."),)) as server:
        heard = await getattr(official(dialect, server), way)()

    assert heard.refusal == "I can't help with that."
    assert heard.text == ""


@every_dialect
async def test_a_cut_off_answer(dialect: Dialect, official: Any) -> None:
    async with model_server((Say("Once upon a"), Finish("length"))) as server:
        heard = await official(dialect, server).whole()

    assert (heard.text, heard.finish) == ("Once upon a", _FINISH[dialect]["cut"])


@every_dialect
async def test_a_cut_off_stream(dialect: Dialect, official: Any) -> None:
    """OpenAI's streaming helpers make an exception of it, so these are the plain events."""
    async with model_server((Say("Once upon a"), Finish("length"))) as server:
        events = await official(dialect, server).events()

    if dialect == "openai-chat":
        assert events[-1].choices[0].finish_reason == "length"
    elif dialect == "openai-responses":
        assert events[-1].type == "response.incomplete"
        assert events[-1].response.incomplete_details.reason == "max_output_tokens"
    else:
        assert events[-2].delta.stop_reason == "max_tokens"


@every_dialect
async def test_a_gate_holds_the_rest_of_the_answer_back(dialect: Dialect, official: Any) -> None:
    gate = Gate()
    async with model_server((Say("half a sen"), gate, Say("tence"))) as server:
        gate.open()
        heard = await official(dialect, server).streamed()

    assert (heard.text, heard.finish) == ("half a sentence", _FINISH[dialect]["said"])


@every_dialect
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "BadRequestError"),
        (401, "AuthenticationError"),
        (403, "PermissionDeniedError"),
        (404, "NotFoundError"),
        (429, "RateLimitError"),
        (500, "InternalServerError"),
        (503, "InternalServerError"),
        (529, "InternalServerError"),
    ],
)
async def test_an_error_is_the_client_s_own_exception(
    dialect: Dialect, status: int, kind: str, official: Any
) -> None:
    said = Status(status, "Not now.", {"retry-after": "7"})
    async with model_server((said,)) as server:
        client = official(dialect, server)
        with pytest.raises(getattr(client.errors, kind)) as raised:
            await client.streamed()

    assert raised.value.status_code == status
    assert "Not now." in raised.value.message
    assert raised.value.response.headers["retry-after"] == "7"
    assert raised.value.type


@every_dialect
async def test_an_error_inside_the_stream_is_told(dialect: Dialect, official: Any) -> None:
    async with model_server((Say("Wai"), StreamError(503, "Overloaded"))) as server:
        client = official(dialect, server)
        if dialect == "openai-responses":
            # Here it is an event, and the client hands it on as one.
            error = (await client.events())[-1]
            assert (error.type, error.code, error.message) == (
                "error",
                "server_is_overloaded",
                "Overloaded",
            )
            return
        with pytest.raises(client.errors.APIError, match="Overloaded"):
            await client.events()


@every_dialect
async def test_a_cut_connection_is_noticed(dialect: Dialect, official: Any) -> None:
    async with model_server((Say("Wai"), Cut())) as server:
        client = official(dialect, server)
        with pytest.raises(Exception, match=r"incomplete chunked read|Connection error"):
            await client.streamed()


@every_dialect
async def test_a_wrong_key_is_refused(dialect: Dialect, official: Any) -> None:
    async with model_server() as server:
        client = official(dialect, server, key="another-one")
        with pytest.raises(client.errors.AuthenticationError):
            await client.whole()

    assert server.requests[0].refused


@every_dialect
async def test_an_invalid_request_is_refused_and_takes_no_script(
    dialect: Dialect, official: Any
) -> None:
    async with model_server((Say("first"),)) as server:
        client = official(dialect, server)
        with pytest.raises(client.errors.BadRequestError, match="must be unique"):
            await client.streamed(tools=VALID[dialect]["tools"] * 2)
        heard = await client.streamed()

    assert heard.text == "first"
    assert [request.refused is None for request in server.requests] == [False, True]


@every_dialect
async def test_the_valid_request_goes_through_the_official_client(
    dialect: Dialect, official: Any
) -> None:
    body = {k: v for k, v in VALID[dialect].items() if not k.startswith(("stream", "model"))}
    async with model_server((Say("fine"),)) as server:
        heard = await official(dialect, server).whole(**body)

    assert heard.text == "fine"
    assert server.requests[0].body == server.requests[0].body | body


@every_dialect
async def test_a_recorded_stream_is_what_the_official_client_expects(
    dialect: Dialect, official: Any
) -> None:
    async with model_server((Recorded(RECORDED[dialect]),)) as server:
        heard = await official(dialect, server).streamed()

    assert heard.text == SAID
    assert "".join(heard.thinking.split()) == "".join(THOUGHT.split())
    assert heard.calls == [("ask", {"n": 7})]
    assert heard.used == Used(input=29, output=30, cached=32, reasoning=12)
