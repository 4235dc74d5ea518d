"""The header `Idempotency-Key`: with it, a request takes effect once. Above: routes.

Below: `problems`. The engine does the work; what is here reads the key and says what came of it.
"""

import re
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from brain.edge.problems import Violation, invalid

REPLAYED = {"Idempotency-Replayed": "`true` if this is the answer of an earlier request."}
"""The header of an answer, as OpenAPI describes it."""

KEY: Mapping[str, Mapping[str, Any]] = {
    "Idempotency-Key": {
        "description": "With a key of your own making the request takes effect once in 24 hours:"
        " sent again, it gets the first answer.",
        "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
    }
}
_KEY = re.compile(r"[\x21-\x7e]{1,255}")


def idempotency_key(request: Request) -> str:
    """The key, empty if there is none."""
    given = request.headers.getlist("idempotency-key")
    if not given:
        return ""
    if len(given) > 1 or not _KEY.fullmatch(given[0]):
        detail = "This must be 1 to 255 visible ASCII characters, and be given once."
        raise invalid(Violation("/header/idempotency-key", detail))
    return given[0]


def replayed(is_replayed: bool) -> dict[str, str]:
    """The header that tells a repeated answer from a first one."""
    return {"Idempotency-Replayed": "true"} if is_replayed else {}
