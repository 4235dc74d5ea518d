"""Anthropic's Messages API. Above: `providers`. Below: `anthropic_request`, `anthropic_reader`."""

from brain.engine.model import anthropic_request
from brain.engine.model.anthropic_reader import AnthropicReader
from brain.engine.model.dialect import Reader, Target
from brain.engine.model.protocol import ModelRequest

_VERSION = "2023-06-01"


class AnthropicMessages:
    """The wire format `anthropic-messages`."""

    def url(self, base_url: str) -> str:
        return f"{base_url.removesuffix('/v1')}/v1/messages"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"anthropic-version": _VERSION, **({"x-api-key": key} if key else {})}

    def body(self, request: ModelRequest, target: Target) -> bytes:
        return anthropic_request.write(request, target)

    def reader(self) -> Reader:
        return AnthropicReader()
