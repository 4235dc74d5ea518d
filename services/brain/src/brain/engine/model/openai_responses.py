"""OpenAI's Responses API, and whoever speaks it. Above: `providers`.

Below: `openai_responses_request`, `openai_responses_reader`.
"""

from brain.engine.model import openai_responses_request
from brain.engine.model.dialect import Reader, Target
from brain.engine.model.openai_responses_reader import ResponsesReader
from brain.engine.model.protocol import ModelRequest


class OpenaiResponses:
    """The wire format `openai-responses`."""

    def url(self, base_url: str) -> str:
        return f"{base_url}/responses"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"} if key else {}

    def body(self, request: ModelRequest, target: Target) -> bytes:
        return openai_responses_request.write(request, target)

    def reader(self) -> Reader:
        return ResponsesReader()
