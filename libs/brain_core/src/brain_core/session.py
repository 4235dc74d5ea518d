"""What a session is made with."""

from typing import Literal

import msgspec
from msgspec import Raw, Struct

Status = Literal["idle", "running", "closed"]
Thinking = Literal["off", "low", "medium", "high"]
Delivery = Literal["queue", "steer", "interrupt", "reject"]
"""What happens to a message that arrives while a turn runs. On an idle session it starts one."""

DEFAULT_MAX_STEPS = 100
MAX_TEMPERATURE = 2.0
MAX_IMAGE_BYTES = 5 * 1024 * 1024
"""The largest image of a message, decoded."""


class Budget(Struct, frozen=True):
    """How much a session may use; `None` is no limit."""

    tokens: int | None = None
    cost_usd: float | None = None


class SessionConfig(Struct, frozen=True):
    """The `config` of `POST /sessions`. `model` is `provider/model`; `tools` are names."""

    model: str
    tools: tuple[str, ...] = ()
    system_prompt: str | None = None
    max_steps: int = DEFAULT_MAX_STEPS
    max_output_tokens: int | None = None
    temperature: float | None = None
    thinking: Thinking = "off"
    budget: Budget | None = None


class ToolSpec(Struct, frozen=True):
    """A tool as the model sees it; `input_schema` is the JSON of its schema."""

    name: str
    description: str
    input_schema: Raw


def no_metadata() -> Raw:
    """An empty JSON object."""
    return Raw(msgspec.json.encode({}))
