"""The parts of a request in Anthropic's Messages format. Above: `anthropic_rules`."""

from typing import Any, Literal

from brain_testing.model_server.strict import Json, Strict


class Mark(Strict, frozen=True, tag="ephemeral"):
    """Up to here the provider remembers what it has read."""

    ttl: Literal["5m", "1h"] = "5m"


class Text(Strict, frozen=True, tag="text"):
    """A text block."""

    text: str
    cache_control: Mark | None = None


class Base64(Strict, frozen=True, tag="base64"):
    """An image's bytes."""

    media_type: str
    data: str


class Url(Strict, frozen=True, tag="url"):
    """An image's address."""

    url: str


class Image(Strict, frozen=True, tag="image"):
    """An image block."""

    source: Base64 | Url
    cache_control: Mark | None = None


class ToolUse(Strict, frozen=True, tag="tool_use"):
    """A call that the model asked for."""

    id: str
    name: str
    input: Json
    cache_control: Mark | None = None


class Result(Strict, frozen=True, tag="tool_result"):
    """A call's result."""

    tool_use_id: str
    content: str | list[Text | Image] = ""
    is_error: bool = False
    cache_control: Mark | None = None


class Thinking(Strict, frozen=True, tag="thinking"):
    """A thought, signed."""

    thinking: str
    signature: str


class Redacted(Strict, frozen=True, tag="redacted_thinking"):
    """A thought that only the provider can read."""

    data: str


class User(Strict, frozen=True, tag_field="role", tag="user"):
    """A user's message: what was said, behind the results of the calls before it."""

    content: str | list[Text | Image | Result]


class Assistant(Strict, frozen=True, tag_field="role", tag="assistant"):
    """The model's message."""

    content: str | list[Text | ToolUse | Thinking | Redacted]


Message = User | Assistant
Block = Text | Image | Result | ToolUse | Thinking | Redacted


class Tool(Strict, frozen=True):
    """A tool that the model may use."""

    name: str
    input_schema: Json
    description: str = ""
    type: Literal["custom"] = "custom"
    strict: bool = False
    cache_control: Mark | None = None


class Enabled(Strict, frozen=True, tag="enabled"):
    """Think, within a budget."""

    budget_tokens: int
    display: Literal["summarized", "omitted"] | None = None


class Adaptive(Strict, frozen=True, tag="adaptive"):
    """Think as much as it takes."""

    display: Literal["summarized", "omitted"] | None = None


class Disabled(Strict, frozen=True, tag="disabled"):
    """Don't think."""


class OutputConfig(Strict, frozen=True):
    """How much effort to make."""

    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: Any = None


class Request(Strict, frozen=True):
    """The whole body, as far as a client like Brain could have use for it."""

    model: str
    max_tokens: int
    messages: list[Message]
    stream: bool = False
    system: str | list[Text] | None = None
    tools: tuple[Tool, ...] = ()
    tool_choice: Any = None
    thinking: Enabled | Adaptive | Disabled | None = None
    output_config: OutputConfig | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop_sequences: list[str] | None = None
    metadata: Any = None
    cache_control: Mark | None = None
