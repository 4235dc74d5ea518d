"""Brain's own requests as each wire format has them, and whether its providers would take them.

Above: tests of the loop. Below: the product's adapters, and `model_server`'s rules.
"""

from brain.engine.model.anthropic_messages import AnthropicMessages
from brain.engine.model.chat_quirks import quirks_of
from brain.engine.model.dialect import Dialect as Adapter
from brain.engine.model.dialect import Target
from brain.engine.model.openai_chat import OpenaiChat
from brain.engine.model.openai_responses import OpenaiResponses
from brain.engine.model.pricing import UNKNOWN
from brain.engine.model.protocol import ModelRequest
from brain_testing.model_server import Dialect, refusal

_ADAPTERS: dict[Dialect, Adapter] = {
    "openai-chat": OpenaiChat(quirks_of("openai", "https://api.openai.com/v1")),
    "openai-responses": OpenaiResponses(),
    "anthropic-messages": AnthropicMessages(),
}


def body_of(dialect: Dialect, request: ModelRequest) -> bytes:
    """The request of a session with the model `test/…`, as the adapter writes it."""
    return _ADAPTERS[dialect].body(request, Target(f"test/{request.model}", UNKNOWN))


def refusals(request: ModelRequest) -> list[str]:
    """Why the providers of each format would refuse the request."""
    found = ((dialect, refusal(dialect, body_of(dialect, request))) for dialect in _ADAPTERS)
    return [f"{dialect}: {why}" for dialect, why in found if why is not None]
