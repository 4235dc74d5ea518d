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
    `nested_effort`: how hard to think stands in an object `reasoning`.
    `reports_cost`: usage has what the call cost, in US dollars.
    """

    modern_max_tokens: bool = False
    short_call_ids: bool = False
    no_user_after_tool: bool = False
    nested_effort: bool = False
    reports_cost: bool = False

    def call_id(self, call_id: str) -> str:
        """Brain's id for a call as this server takes it, the same each time."""
        if not self.short_call_ids:
            return call_id
        digest = hashlib.sha256(call_id.encode()).digest()
        return base64.b32hexencode(digest)[:9].decode().lower()


_BY_DOMAIN = {
    "openai.com": Quirks(modern_max_tokens=True),
    "openai.azure.com": Quirks(modern_max_tokens=True),
    "mistral.ai": Quirks(short_call_ids=True, no_user_after_tool=True),
    "openrouter.ai": Quirks(nested_effort=True, reports_cost=True),
}


def quirks_of(base_url: str) -> Quirks:
    """The quirks of the server at this address."""
    host = urlsplit(base_url).hostname or ""
    for domain, quirks in _BY_DOMAIN.items():
        if host == domain or host.endswith("." + domain):
            return quirks
    return Quirks()
