"""OpenAI's chat completions API, and whoever speaks it. Above: `providers`.

Below: `openai_chat_request`, `openai_chat_reader`, and `chat_quirks` for the differences.
"""

from brain.engine.model import openai_chat_request
from brain.engine.model.chat_quirks import Quirks
from brain.engine.model.dialect import Reader, Target
from brain.engine.model.openai_chat_reader import ChatReader
from brain.engine.model.protocol import ModelRequest


class OpenaiChat:
    """The wire format `openai-chat`."""

    def __init__(self, quirks: Quirks) -> None:
        self._quirks = quirks

    def url(self, base_url: str) -> str:
        return f"{base_url}/chat/completions"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"} if key else {}

    def body(self, request: ModelRequest, target: Target) -> bytes:
        return openai_chat_request.write(request, target, self._quirks)

    def reader(self) -> Reader:
        return ChatReader(self._quirks)
