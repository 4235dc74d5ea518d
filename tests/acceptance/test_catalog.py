"""What a tenant may use, and what it is never told."""

from typing import Any

import pytest

from brain_testing.api import Api
from brain_testing.desk import Desk
from brain_testing.plugin import StartBrain

pytestmark = pytest.mark.requirement("SES-01")

SECRET = "the-token-of-the-tool-service"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"z": {"type": "integer", "maximum": 12345678901234567890}, "a": {}},
}


@pytest.fixture
async def api(start_brain: StartBrain, desk: Desk, connect: Any) -> Api:
    plain = desk.binding("plain", input_schema=SCHEMA, token_env="TOOL_TOKEN")
    typed = desk.binding("typed", output_schema={"type": "array"}, description="Gives a list.")
    return connect(await start_brain(tools=[plain, typed], env={"TOOL_TOKEN": SECRET}))


async def test_it_lists_harnesses_models_and_tools(api: Api) -> None:
    catalog = (await api.http.get("/catalog")).json()
    assert catalog.keys() == {"harnesses", "models", "tools"}
    assert "pi" in str(catalog["harnesses"])
    assert "demo/script" in str(catalog["models"])
    assert [tool["name"] for tool in catalog["tools"]] == ["plain", "typed"]


async def test_a_tool_has_its_name_description_and_schemas_and_nothing_else(api: Api) -> None:
    plain, typed = (await api.http.get("/catalog")).json()["tools"]
    assert plain == {
        "name": "plain",
        "description": "The tool plain of a test.",
        "input_schema": SCHEMA,
    }
    assert typed == {
        "name": "typed",
        "description": "Gives a list.",
        "input_schema": {"type": "object"},
        "output_schema": {"type": "array"},
    }


async def test_it_never_shows_where_a_tool_is_or_how_it_is_called(api: Api, desk: Desk) -> None:
    text = (await api.http.get("/catalog")).text
    for secret in ("url", "token_env", "TOOL_TOKEN", SECRET, desk.url, "tenants", "timeout"):
        assert secret not in text


async def test_a_schema_is_shown_as_it_was_written(api: Api) -> None:
    text = (await api.http.get("/catalog")).text.replace(" ", "")
    assert '"maximum":12345678901234567890' in text
    assert text.index('"z":') < text.index('"a":')
