"""The OpenAPI document is complete and true: a fuzzer that has read it finds nothing else."""

# schemathesis is typed in part only.
# pyright: basic

import asyncio
import threading
from collections.abc import Generator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from brain.edge.app import create_app
from brain.edge.settings import EdgeSettings
from brain_testing.running import RunningBrain, Setup, running_brain

TIMEOUT = 20
TOOL = {
    "name": "echo",
    "description": "Echoes.",
    "input_schema": {"type": "object"},
    "output_schema": {"type": "object"},
    "url": "http://127.0.0.1:9/echo",
    "tenants": ["local"],
}
DOCUMENT = create_app(EdgeSettings(("unix:none",), None, {}, "http://127.0.0.1")).openapi()
OPERATIONS = [
    (path, method, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]
PUBLIC = {"/healthz", "/readyz"}
api = schemathesis.openapi.from_dict(DOCUMENT)
of_a_session = api.include(path_regex="session_id")
fuzzed = settings(
    max_examples=12,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@pytest.fixture(scope="module")
def brain() -> Generator[RunningBrain]:
    """A Brain on a loop of its own: the fuzzer blocks."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    running = running_brain(Setup(tools=[TOOL]))
    try:
        yield asyncio.run_coroutine_threadsafe(running.__aenter__(), loop).result(TIMEOUT)
    finally:
        leaving = running.__aexit__(None, None, None)
        asyncio.run_coroutine_threadsafe(leaving, loop).result(TIMEOUT)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(TIMEOUT)
        loop.close()


def checks_that_do_not_hold(case: schemathesis.Case) -> list[Any]:
    """Which harnesses, models and tools there are is in the catalog, not in the document."""
    made = (case.method, case.operation.path) == ("POST", "/sessions")
    return [positive_data_acceptance] if made else []


@pytest.mark.requirement("API-01", "API-02", "API-04")
@api.parametrize()
@fuzzed
def test_every_answer_is_one_that_the_document_describes(
    case: schemathesis.Case, brain: RunningBrain
) -> None:
    case.call_and_validate(
        base_url=brain.url,
        headers={"Authorization": f"Bearer {brain.key}"},
        timeout=TIMEOUT,
        excluded_checks=checks_that_do_not_hold(case),
    )


@pytest.mark.requirement("API-01", "API-02", "API-04")
@pytest.mark.parametrize("state", ["idle", "closed"])
@of_a_session.parametrize()
@fuzzed
def test_it_is_true_of_a_session_that_is_there_too(
    case: schemathesis.Case, state: str, brain: RunningBrain
) -> None:
    headers = {"Authorization": f"Bearer {brain.key}"}
    case.path_parameters["session_id"] = new_session(brain, state)
    case.call_and_validate(base_url=brain.url, headers=headers, timeout=TIMEOUT)


def new_session(brain: RunningBrain, state: str) -> str:
    headers = {"Authorization": f"Bearer {brain.key}"}
    body = {"harness": "pi", "config": {"model": "demo/script"}}
    made = requests.post(f"{brain.url}/sessions", json=body, headers=headers, timeout=TIMEOUT)
    session_id = made.json()["id"]
    if state == "closed":
        closing = f"{brain.url}/sessions/{session_id}/close"
        requests.post(closing, headers=headers, timeout=TIMEOUT)
    return session_id


@pytest.mark.requirement("API-04")
@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_each_route_documents_every_way_in_which_it_can_fail(
    path: str, method: str, operation: dict[str, Any]
) -> None:
    expected = {"422", "500"}
    if path not in PUBLIC:
        expected |= {"401", "403", "429", "503"}
    if "requestBody" in operation:
        expected |= {"400", "413", "415"}
    if "{session_id}" in path:
        expected |= {"404"}
    assert expected <= operation["responses"].keys()
    assert ("security" in operation) == (path not in PUBLIC)
    for status, header in (
        ("401", "WWW-Authenticate"),
        ("429", "Retry-After"),
        ("503", "Retry-After"),
    ):
        assert header in operation["responses"].get(status, {"headers": {header: {}}})["headers"]


@pytest.mark.requirement("API-04")
def test_every_route_is_in_the_document() -> None:
    assert {(method.upper(), path) for path, method, _ in OPERATIONS} == {
        ("GET", "/catalog"),
        ("POST", "/sessions"),
        ("GET", "/sessions"),
        ("GET", "/sessions/{session_id}"),
        ("DELETE", "/sessions/{session_id}"),
        ("POST", "/sessions/{session_id}/interrupt"),
        ("POST", "/sessions/{session_id}/compact"),
        ("POST", "/sessions/{session_id}/close"),
        ("POST", "/sessions/{session_id}/messages"),
        ("GET", "/sessions/{session_id}/messages"),
        ("DELETE", "/sessions/{session_id}/messages/{message_id}"),
        ("GET", "/sessions/{session_id}/events"),
        ("GET", "/usage"),
        ("GET", "/healthz"),
        ("GET", "/readyz"),
    }
