"""Providers of models in the host config: what is known of them, and what is refused."""

from typing import Any

import pytest

from brain.config.providers import PROVIDERS
from brain_testing.host_config import ENV, Checker, accepted, pointers

OWN = {"provider": "own", "api": "openai-chat", "base_url": "http://10.0.0.1:8000/v1"}


@pytest.mark.requirement("MODEL-01")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_known_provider_needs_only_its_name_and_its_key(provider: str, checked: Checker) -> None:
    known = PROVIDERS[provider]
    name = known.api_key_env
    config = accepted(checked({"models": [{"provider": provider}]}, {**ENV, name or "X": "k" * 20}))

    (model,) = config.models
    assert (model.api, model.base_url, model.api_key_env) == known
    assert config.model_keys == ({provider: "k" * 20} if name else {})


@pytest.mark.requirement("MODEL-01")
def test_the_known_providers_are_those_of_the_documentation() -> None:
    assert set(PROVIDERS) == {
        *("openai", "anthropic", "google", "openrouter", "groq", "mistral", "deepseek", "xai"),
        *("together", "fireworks", "ollama", "vllm", "lmstudio"),
    }
    local = [name for name, known in PROVIDERS.items() if known.api_key_env is None]
    assert local == ["ollama", "vllm", "lmstudio"]


def test_a_named_provider_whose_key_is_not_set_is_a_problem(checked: Checker) -> None:
    outcome = checked({"models": [{"provider": "ollama"}, {"provider": "openai"}]})

    assert pointers(outcome) == ["/models/1/api_key_env"]
    assert "OPENAI_API_KEY" in str(outcome)


def test_a_known_provider_can_be_reached_elsewhere_and_without_a_key(checked: Checker) -> None:
    entry = {"provider": "openai", "base_url": "http://gateway/v1/", "api_key_env": None}
    config = accepted(checked({"models": [entry]}))

    assert config.models[0].base_url == "http://gateway/v1"
    assert config.model_keys == {}


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"provider": "a/b"}, "/provider", "no '/'"),
    ({"provider": "demo"}, "/provider", "built in"),
    ({"provider": 5}, "/provider", "must be a string"),
    ({"api": "openai"}, "/api", "'openai-chat', 'openai-responses' or 'anthropic-messages'"),
    ({"base_url": "10.0.0.1:8000"}, "/base_url", "absolute http or https URL"),
    ({"base_url": "http://u:p@host/v1"}, "/base_url", "user or password"),
    ({"base_url": "http://host/v1?api-version=1"}, "/base_url", "query"),
    ({"api_key_env": "not a name"}, "/api_key_env", "environment variable"),
    ({"api_key_env": "NOT_SET"}, "/api_key_env", "NOT_SET"),
    ({"headers": {"X": 1}}, "/headers/X", "must be a string"),
    ({"headers": {"X": "a\nb"}}, "/headers/X", "visible ASCII"),
    ({"headers": {"X": ""}}, "/headers/X", "visible ASCII"),
    ({"headers": {"a b": "x"}}, "/headers/a b", "name of an HTTP header"),
    ({"headers": {"Host": "x"}}, "/headers/Host", "sets itself"),
    ({"header": {}}, "/header", "did you mean headers?"),
    ({"models": {"m": {"context": 5}}}, "/models/m/context", "context_window"),
    ({"models": {"m": {"context_window": 0}}}, "/models/m/context_window", "more than 0"),
    ({"models": {"m": {"context_window": 1.5}}}, "/models/m/context_window", "an integer"),
    ({"models": {"m": {"prices": {"input": 1}}}}, "/models/m/prices/output", "is required"),
    (
        {"models": {"m": {"prices": {"input": -1, "output": 1}}}},
        "/models/m/prices/input",
        "0 or more",
    ),
    (
        {"models": {"m": {"prices": {"input": 1, "output": 1, "cached": 1}}}},
        "/models/m/prices/cached",
        "cache_read",
    ),
    (
        {"models": {"a/b": {"long_prices": {"input": 1, "output": 1}}}},
        "/models/a~1b/long_prices/above",
        "is required",
    ),
    ({"models": {"m": {"thinking": "hard"}}}, "/models/m/thinking", "'adaptive' or 'budget'"),
    ({"models": {"m": {"reasons": 1}}}, "/models/m/reasons", "true or false"),
]


@pytest.mark.requirement("CONF-02")
@pytest.mark.parametrize(("fields", "pointer", "says"), WRONG)
def test_a_wrong_field_is_one_problem(
    fields: dict[str, Any], pointer: str, says: str, checked: Checker
) -> None:
    outcome = checked({"models": [{**OWN, **fields}]})

    assert pointers(outcome) == [f"/models/0{pointer}"]
    assert says in str(outcome)


def test_a_provider_that_is_not_known_says_how_it_is_reached(checked: Checker) -> None:
    outcome = checked({"models": [{"provider": "own"}]})

    assert pointers(outcome) == ["/models/0/api", "/models/0/base_url"]


def test_a_provider_is_named_once(checked: Checker) -> None:
    assert pointers(checked({"models": [OWN, OWN]})) == ["/models/1/provider"]
