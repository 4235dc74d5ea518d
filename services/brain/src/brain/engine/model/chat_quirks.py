"""Where servers of the chat completions format differ. Above: `openai_chat`.

The format is OpenAI's; everyone else's is nearly the same.
"""

import base64
import hashlib
from urllib.parse import urlsplit

from msgspec import Struct


class Quirks(Struct, frozen=True):
    """What a server wants otherwise than most.

    `modern_max_tokens`: it knows the limit on the answer as `max_completion_tokens`.
    `short_call_ids`: the ids of calls are nine letters or digits.
    `no_user_after_tool`: a user's message can't come right after the results of calls.
    `tells_usage_unasked`: usage is always there, and asking for it is refused or has no effect.
    `nested_effort`: how hard to think stands in an object `reasoning`.
    `wants_reasoning_content`: each of the model's messages has its thoughts, be they empty.
    `reports_cost`: usage has what the call cost, in US dollars.
    """

    modern_max_tokens: bool = False
    short_call_ids: bool = False
    no_user_after_tool: bool = False
    tells_usage_unasked: bool = False
    nested_effort: bool = False
    wants_reasoning_content: bool = False
    reports_cost: bool = False

    def call_id(self, call_id: str) -> str:
        """Brain's id for a call as this server takes it, the same each time."""
        if not self.short_call_ids:
            return call_id
        digest = hashlib.sha256(call_id.encode()).digest()
        return base64.b32hexencode(digest)[:9].decode().lower()


_OPENAI = Quirks(modern_max_tokens=True)
_KNOWN = {
    "openai": _OPENAI,
    "mistral": Quirks(short_call_ids=True, no_user_after_tool=True, tells_usage_unasked=True),
    "openrouter": Quirks(tells_usage_unasked=True, nested_effort=True, reports_cost=True),
    "deepseek": Quirks(wants_reasoning_content=True),
}
_DOMAINS = {
    "openai.com": "openai",
    "openai.azure.com": "openai",
    "mistral.ai": "mistral",
    "openrouter.ai": "openrouter",
    "deepseek.com": "deepseek",
}


def quirks_of(provider: str, base_url: str) -> Quirks:
    """The quirks of a provider, known by its name in the host config or by its address.

    So those who reach a provider through a gateway of their own keep its name.
    """
    host = urlsplit(base_url).hostname or ""
    for domain, name in _DOMAINS.items():
        if host == domain or host.endswith("." + domain):
            return _KNOWN[name]
    return _KNOWN.get(provider, Quirks())
