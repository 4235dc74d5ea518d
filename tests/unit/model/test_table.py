"""The table of models that ships with Brain, and what the operator adds to it (MODEL-04)."""

from pathlib import Path

import pytest

from brain.config.check import CheckedConfig, check
from brain.config.providers import PROVIDERS
from brain.engine.model.pricing import ModelFacts, Prices, shipped
from brain.engine.model.providers import build_models
from brain_core.usage import Usage
from brain_testing.host_config import ENV

pytestmark = pytest.mark.requirement("MODEL-04")

TABLE = shipped()
MILLION = Usage(1_000_000, 1_000_000, 1_000_000, 1_000_000)


def _prices(facts: ModelFacts) -> list[Prices]:
    return [prices for prices in (facts.prices, facts.long_prices) if prices is not None]


@pytest.mark.parametrize("model_id", TABLE.names())
def test_each_line_is_plausible(model_id: str) -> None:
    facts = TABLE.find(model_id)

    assert model_id.partition("/")[0] in PROVIDERS
    assert facts.context_window is not None
    assert 100_000 <= facts.context_window <= 2_000_000
    assert facts.max_output_tokens is None or facts.max_output_tokens <= facts.context_window
    assert facts.prices is not None
    for prices in _prices(facts):
        assert 0 < prices.input < prices.output < 1000
        assert prices.cache_read is None or prices.cache_read < prices.input
        assert prices.cache_write is None or prices.cache_write >= prices.input
    if facts.long_prices is not None:
        assert facts.long_prices.input > facts.prices.input
        assert facts.long_prices.above < facts.context_window
    if model_id.startswith("anthropic/"):
        assert facts.thinking is not None
        assert facts.prices.cache_write == pytest.approx(facts.prices.input * 1.25)
    if model_id.startswith("openai/"):
        assert facts.reasons is not None


@pytest.mark.parametrize("suffix", ["-2026-04-14", "-20260414", "-latest"])
def test_a_snapshot_is_the_model_without_its_date(suffix: str) -> None:
    assert TABLE.find(f"openai/gpt-4.1-mini{suffix}") == TABLE.find("openai/gpt-4.1-mini")
    assert TABLE.find(f"openai/gpt-9{suffix}") == ModelFacts()


def test_a_call_costs_what_its_parts_cost() -> None:
    assert TABLE.cost("anthropic/claude-opus-4-5", MILLION) == pytest.approx(5 + 25 + 0.5 + 6.25)
    assert TABLE.cost("openai/gpt-4o", Usage(1_000_000)) == pytest.approx(2.5)
    long = Usage(300_000, 0)
    assert TABLE.cost("openai/gpt-5.4", long) == pytest.approx(0.3 * 5)


@pytest.mark.parametrize(
    ("model_id", "usage"),
    [("own/m", MILLION), ("openai/gpt-9", MILLION), ("openai/gpt-4o", Usage())],
)
def test_what_is_not_known_costs_null(model_id: str, usage: Usage) -> None:
    assert TABLE.cost(model_id, usage) is None


def _checked(folder: Path, text: str) -> CheckedConfig:
    path = folder / "brain.json"
    path.write_text(text)
    config = check(path, ENV)
    assert isinstance(config, CheckedConfig), config
    return config


async def test_the_operators_figures_win_over_those_that_ship(tmp_path: Path) -> None:
    config = _checked(
        tmp_path,
        '{"models": [{"provider": "openai", "api_key_env": null, "models": {'
        '"gpt-5.4": {"prices": {"input": 1, "output": 2}},'
        '"gpt-new": {"context_window": 5000}}}]}',
    )
    models = build_models(config)

    assert models.cost("openai/gpt-5.4", Usage(1_000_000, 0)) == pytest.approx(1)
    assert models.window("openai/gpt-5.4") == TABLE.window("openai/gpt-5.4")
    assert models.window("openai/gpt-new") == 5000
    assert models.cost("openai/gpt-new", MILLION) is None
    await models.aclose()


async def test_a_model_of_which_nothing_is_known_works_and_has_no_window(tmp_path: Path) -> None:
    models = build_models(_checked(tmp_path, '{"models": [{"provider": "ollama"}]}'))

    assert models.find("ollama/anything") is not None
    assert models.window("ollama/anything") is None
    assert models.window("demo/script") is None
    await models.aclose()


def test_without_models_in_the_file_there_is_the_demo(tmp_path: Path) -> None:
    models = build_models(_checked(tmp_path, "{}"))

    assert models.names() == ("demo/script",)
    assert models.find("openai/gpt-4.1-mini") is None
