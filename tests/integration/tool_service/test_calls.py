"""What a tool service does with a call, whatever the tool does."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any

import httpx2
import msgspec
import pytest

from tool_service import Call, Image, Result, ToolError, ToolService, UnknownOutcome

pytestmark = pytest.mark.requirement("SVC-02")
Start = Callable[[ToolService], Awaitable[httpx2.AsyncClient]]
Body = Callable[..., dict[str, Any]]


def events(text: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for block in text.split("\n\n"):
        if block.startswith("event: "):
            name, data = block.split("\n")
            found.append((name[7:], msgspec.json.decode(data[6:])))
    return found


async def test_a_string_is_text(service: ToolService, start: Start, call: Body) -> None:
    @service.tool("Greet.")
    async def greet(name: Annotated[str, msgspec.Meta(max_length=5)], excited: bool = False) -> str:
        return f"Hello, {name}{'!' if excited else '.'}"

    http = await start(service)
    answer = await http.post("/tools/greet", json=call(name="Ada", excited=True))

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {"content": [{"type": "text", "text": "Hello, Ada!"}]}
    assert service.tools["greet"].input_schema == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 5},
            "excited": {"type": "boolean", "default": False},
        },
        "required": ["name"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    "arguments", [{}, {"name": 1}, {"name": "too long"}, {"name": "a", "more": 1}]
)
async def test_arguments_that_break_the_schema_never_reach_the_function(
    service: ToolService, start: Start, call: Body, arguments: dict[str, Any]
) -> None:
    ran: list[str] = []

    @service.tool("Greet.")
    async def greet(name: Annotated[str, msgspec.Meta(max_length=5)]) -> str:
        ran.append(name)
        return name

    http = await start(service)
    answer = await http.post("/tools/greet", json=call(**arguments))

    assert answer.status_code == 200
    assert answer.json()["is_error"] is True
    assert "unknown_outcome" not in answer.json()
    assert ran == []


async def test_a_given_schema_is_validated_with_its_formats(
    service: ToolService, start: Start, call: Body
) -> None:
    schema = {"type": "object", "properties": {"to": {"type": "string", "format": "email"}}}

    @service.tool("Mail.", input_schema=schema)
    async def mail(to: str) -> str:
        return to

    http = await start(service)

    assert (await http.post("/tools/mail", json=call(to="no mail"))).json()["is_error"] is True
    assert "is_error" not in (await http.post("/tools/mail", json=call(to="a@b.example"))).json()


async def test_images_and_structured_content_come_as_the_protocol_has_them(
    service: ToolService, start: Start, call: Body
) -> None:
    @service.tool("Draw.")
    async def draw() -> Result:
        return Result(text="here", images=(Image(b"hi", "image/png"),), structured={"n": 1})

    @service.tool("Count.")
    async def count() -> dict[str, int]:
        return {"n": 1}

    http = await start(service)

    assert (await http.post("/tools/draw", json=call())).json() == {
        "content": [
            {"type": "text", "text": "here"},
            {"type": "image", "data": "aGk=", "mime_type": "image/png"},
        ],
        "structured_content": {"n": 1},
    }
    assert (await http.post("/tools/count", json=call())).json() == {"structured_content": {"n": 1}}


@pytest.mark.parametrize(
    ("error", "unknown"),
    [(ToolError("no"), False), (UnknownOutcome("perhaps"), True), (ValueError("secret"), True)],
)
async def test_a_failure_is_a_result(
    service: ToolService, start: Start, call: Body, error: Exception, unknown: bool
) -> None:
    @service.tool("Fail.")
    async def fail() -> str:
        raise error

    http = await start(service)
    answer = await http.post("/tools/fail", json=call())

    assert answer.status_code == 200
    assert answer.json()["is_error"] is True
    assert answer.json().get("unknown_outcome", False) is unknown
    assert "secret" not in answer.text


async def test_progress_streams_and_the_result_ends_the_stream(
    service: ToolService, start: Start, call: Body
) -> None:
    @service.tool("Count aloud.")
    async def aloud(to: int, call: Call) -> str:
        for number in range(to):
            await call.progress({"n": number})
        return "done"

    @service.tool("Count aloud, as a generator.")
    async def yielding(to: int) -> AsyncIterator[Any]:
        for number in range(to):
            yield {"n": number}
        yield Result(text="done")

    http = await start(service)
    for name in ("aloud", "yielding"):
        answer = await http.post(f"/tools/{name}", json=call(to=3))
        assert answer.headers["content-type"] == "text/event-stream"
        assert events(answer.text) == [
            ("progress", {"n": 0}),
            ("progress", {"n": 1}),
            ("progress", {"n": 2}),
            ("result", {"content": [{"type": "text", "text": "done"}]}),
        ]


async def test_a_client_that_goes_cancels_the_function(
    service: ToolService, start: Start, call: Body
) -> None:
    began, cancelled = asyncio.Event(), asyncio.Event()

    @service.tool("Wait.")
    async def wait() -> str:
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "never"

    http = await start(service)
    request = asyncio.create_task(http.post("/tools/wait", json=call()))
    await asyncio.wait_for(began.wait(), 10)
    request.cancel()

    await asyncio.wait_for(cancelled.wait(), 10)


async def test_a_second_delivery_of_a_call_is_refused(
    service: ToolService, start: Start, call: Body
) -> None:
    charged: list[int] = []

    @service.tool("Charge.")
    async def charge(cents: int) -> str:
        charged.append(cents)
        return "charged"

    http = await start(service)
    body = call(cents=5)

    assert (await http.post("/tools/charge", json=body)).status_code == 200
    assert (await http.post("/tools/charge", json=body)).status_code == 409
    assert charged == [5]


@pytest.mark.parametrize("token", [None, "Bearer wrong", "Bearer ", "Basic x", "bearer"])
async def test_a_call_without_the_token_is_refused(
    service: ToolService, start: Start, call: Body, token: str | None
) -> None:
    @service.tool("Nothing.")
    async def nothing() -> str:
        raise AssertionError

    http = await start(service)
    headers = {"Authorization": token.rstrip()} if token else {"Authorization": ""}
    answer = await http.post("/tools/nothing", json=call(), headers=headers)

    assert answer.status_code == 401


async def test_what_is_no_call_is_refused(service: ToolService, start: Start, call: Body) -> None:
    @service.tool("Nothing.")
    async def nothing() -> str:
        return ""

    http = await start(service)
    json = {"Content-Type": "application/json"}

    assert (await http.post("/tools/nothing", content=b"{", headers=json)).status_code == 400
    assert (await http.post("/tools/nothing", content=b"{}")).status_code == 415
    assert (await http.post("/tools/nothing", json={"arguments": {}})).status_code == 400
    assert (await http.post("/tools/other", json=call())).status_code == 404
    big = call(text="x" * (9 * 1024 * 1024))
    assert (await http.post("/tools/nothing", json=big)).status_code == 413
    assert (await http.get("/healthz")).json() == {"status": "ok"}


async def test_a_call_with_more_than_is_known_is_taken(
    service: ToolService, start: Start, call: Body
) -> None:
    @service.tool("Who.")
    async def who(call: Call) -> str:
        return f"{call.tenant_id} {call.session_id} {call.inspection_token}"

    http = await start(service)
    body = {**call(), "inspection_token": "insp_1", "brain_url": "http://b", "later": True}

    assert "local ses_1 insp_1" in (await http.post("/tools/who", json=body)).text
