"""`docs/reference/host-config.md` is true: its files pass the check, and it knows every field."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from brain.config.bindings import ToolBinding
from brain.config.check import CheckedConfig, check
from brain.config.host import HostConfig, ModelConfig, ModelPrices, NamedModel
from brain.config.providers import PROVIDERS

PAGE = (Path(__file__).parents[3] / "docs/reference/host-config.md").read_text()
EXAMPLES = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
ENV = {
    name: name.lower() + "-of-enough-characters"
    for name in (
        "BRAIN_API_KEY",
        "BRAIN_TOOLS_KEY",
        "OPENAI_API_KEY",
        "MY_ANTHROPIC_KEY",
        "GATEWAY_KEY",
    )
}


@pytest.mark.requirement("CONF-01")
@pytest.mark.parametrize("example", EXAMPLES)
def test_each_example_passes_the_check(example: str, tmp_path: Path) -> None:
    path = tmp_path / "brain.json"
    path.write_text(example)

    assert isinstance(check(path, ENV), CheckedConfig)


@pytest.mark.requirement("CONF-01")
def test_the_whole_file_shows_the_defaults() -> None:
    document: dict[str, Any] = json.loads(EXAMPLES[0])
    shown = HostConfig.model_validate({**document, "models": None})

    assert shown == HostConfig()
    assert set(document) == set(HostConfig.model_fields)


@pytest.mark.parametrize("model", [HostConfig, ModelConfig, NamedModel, ModelPrices, ToolBinding])
def test_each_field_is_described(model: type[BaseModel]) -> None:
    assert [name for name in model.model_fields if f"`{name}" not in PAGE] == []


@pytest.mark.parametrize("name", PROVIDERS)
def test_each_known_provider_is_described(name: str) -> None:
    api, base_url, key = PROVIDERS[name]
    shown = f"`{key}`" if key else "none"

    assert f"| `{name}` | `{api}` | `{base_url}` | {shown} |" in PAGE
