"""What every model can do. Above: `harness`. Below: one adapter for each wire format."""

from collections.abc import AsyncGenerator
from typing import Literal, Protocol

from msgspec import Struct

from brain_core.content import (
    AssistantBlock,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    UserBlock,
)
from brain_core.session import Thinking, ToolSpec
from brain_core.usage import Usage


class UserTurn(Struct, frozen=True):
    """What a user said."""

    content: tuple[UserBlock, ...]


class AssistantTurn(Struct, frozen=True):
    """What a model answered. `model` is the full id of the model that did."""

    content: tuple[AssistantBlock, ...]
    model: str


class ToolTurn(Struct, frozen=True):
    """What one tool call came to, for the model."""

    call_id: str
    name: str
    content: tuple[ResultBlock, ...]
    is_error: bool


Turn = UserTurn | AssistantTurn | ToolTurn


class ModelRequest(Struct, frozen=True):
    """One model call. In `turns` every tool call is followed by its result, in the calls' order.

    `model` is what stands behind the first `/` of the session's model.
    """

    model: str
    turns: tuple[Turn, ...]
    tools: tuple[ToolSpec, ...] = ()
    system_prompt: str | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    thinking: Thinking = "off"


class Delta(Struct, frozen=True):
    """A piece of the answer. `index` tells the answer's tool calls apart, from 0.

    `usage` is what the call has used so far, in the first piece after the provider said so: all
    that is known if the call is broken off.
    """

    kind: Literal["text", "thinking", "tool_arguments"]
    text: str
    index: int = 0
    usage: Usage | None = None


class RequestedCall(Struct, frozen=True):
    """A tool call as the model wrote it: `arguments` is its text, JSON or not."""

    name: str
    arguments: str


AnswerBlock = TextBlock | ThinkingBlock | RequestedCall


class Answer(Struct, frozen=True):
    """The whole answer, the last thing in a stream: what was said, in the order it was said.

    The n-th `RequestedCall` of `blocks` is the one whose deltas had the index n.
    """

    blocks: tuple[AnswerBlock, ...]
    stop_reason: Literal["end_turn", "tool_calls", "length"]
    usage: Usage


class Failure(Struct, frozen=True):
    """The call failed, the last thing in its stream. `message` is fit for a user.

    A transient failure may pass by itself; `retry_after` is in seconds, if the provider said.
    """

    code: str
    message: str
    transient: bool
    usage: Usage
    retry_after: float | None = None


class Model(Protocol):
    """A model behind one provider."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Answer | Failure, None]:
        """The answer as it is made: deltas, then one `Answer` or `Failure`. Never raises.

        Closing the iterator early ends the request.
        """
        ...


class Models(Protocol):
    """The models that this server can call."""

    def find(self, model_id: str) -> Model | None:
        """The model behind `provider/model`, or None."""
        ...

    def names(self) -> tuple[str, ...]:
        """Known ids, `provider/*` where any model of a provider can be named."""
        ...


def split_model_id(model_id: str) -> tuple[str, str]:
    """`provider/model` at its first `/`; the model is empty if there is none."""
    provider, _, model = model_id.partition("/")
    return provider, model
