"""Host configs for tests of the check: a binding that is right, and what came of a check."""

from collections.abc import Callable
from typing import Any

from brain.config.check import CheckedConfig, Problem

Json = dict[str, Any]
Outcome = CheckedConfig | tuple[Problem, ...]
Checker = Callable[..., Outcome]
"""Checks a document, or a text, in an environment."""

KEY = "a-key-of-more-than-16-characters"
ENV = {"BRAIN_API_KEY": KEY, "TOOL_KEY": "t" * 20}


def tool(**changes: object) -> Json:
    """A binding that is right but for the changes; `...` leaves a field out."""
    fields = {
        "name": "echo",
        "description": "Echo text.",
        "input_schema": {"type": "object"},
        "url": "http://127.0.0.1:8081/tools/echo",
        "tenants": ["local"],
    }
    return {name: value for name, value in {**fields, **changes}.items() if value is not ...}


def pointers(outcome: Outcome) -> list[str]:
    """Where the problems are."""
    assert isinstance(outcome, tuple), "the config was accepted"
    return [problem.pointer for problem in outcome]


def accepted(outcome: Outcome) -> CheckedConfig:
    """The config, which must have no problem."""
    assert isinstance(outcome, CheckedConfig), outcome
    return outcome
