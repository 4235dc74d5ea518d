"""`docs/reference/http-api.md` says what the OpenAPI document and the events' classes say."""

import json
import re
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pytest

from brain.edge.app import create_app
from brain.edge.models import NewSessionConfig
from brain.edge.settings import EdgeSettings
from brain_core.events import EventData, UnknownEvent

PAGE = (Path(__file__).parents[3] / "docs/reference/http-api.md").read_text("utf-8")
SETTINGS = EdgeSettings(("unix:unused",), None, {}, "http://127.0.0.1:8080")
DOCUMENT: dict[str, Any] = create_app(SETTINGS).openapi()
OPERATIONS = {
    f"{method.upper()} {re.sub(r'{session_id}', '{id}', path)}": operation
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}
EVENTS = {each.type: each for each in EventData.__subclasses__() if each is not UnknownEvent}


def rows(heading: str) -> list[list[str]]:
    """The rows of the first table under a heading, each as its cells."""
    section = re.split(r"(?m)^#+ ", PAGE.split(f"# {heading}\n", 1)[1], maxsplit=1)[0]
    lines = re.findall(r"^\| (.*) \|$", section, re.MULTILINE)
    return [line.split(" | ") for line in lines[2:]]


def names(cell: str) -> list[str]:
    """What stands in a cell as code, but for what explains it in brackets."""
    return re.findall(r"`([a-z_]+)`", re.sub(r"\([^)]*\)", "", cell))


def test_each_route_is_on_the_page_with_its_answers() -> None:
    on_page = {cells[0].strip("`"): cells[1].split(", ") for cells in rows("Routes")}

    assert on_page.keys() == OPERATIONS.keys()
    for route, statuses in on_page.items():
        answers = OPERATIONS[route]["responses"]
        assert set(statuses) <= answers.keys(), route
        assert {each for each in answers if each < "300"} <= set(statuses), route


def test_each_status_of_an_error_is_on_the_page() -> None:
    answers = chain.from_iterable(each["responses"] for each in OPERATIONS.values())

    assert {each for each in answers if each >= "400"} <= {
        cells[0] for cells in rows("Requests and errors")
    }


def test_each_field_of_a_sessions_config_is_on_the_page() -> None:
    assert {names(cells[0])[0] for cells in rows("Create")} == NewSessionConfig.model_fields.keys()


def test_each_type_of_event_is_on_the_page() -> None:
    on_page = {cells[0].strip("`"): cells[1] == "yes" for cells in rows("Events")}

    assert on_page == {name: each.durable for name, each in EVENTS.items()}


@pytest.mark.parametrize("cells", rows("Events"), ids=lambda cells: cells[0].strip("`"))
def test_each_field_of_an_event_is_on_the_page(cells: list[str]) -> None:
    event = EVENTS[cells[0].strip("`")]

    # What a field means, or may be, is said after a colon or in brackets.
    named = re.sub(r"\([^)]*\)|:[^,]*", "", cells[2])
    assert names(named) == [field.encode_name for field in msgspec.structs.fields(event)]


def test_each_parameter_of_a_query_is_on_the_page() -> None:
    parameters = chain.from_iterable(each.get("parameters", ()) for each in OPERATIONS.values())
    query = {each["name"] for each in parameters if each["in"] == "query"}

    assert {each for each in query if not re.search(rf"[?&`]{each}\b", PAGE)} == set()


@pytest.mark.parametrize("block", re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))
def test_each_example_is_json(block: str) -> None:
    json.loads(block)
