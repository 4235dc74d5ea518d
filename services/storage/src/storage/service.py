"""The storage service: which tools it offers, and what they stand on.

Above: `main`. Below: `tool_service`.
"""

import os
from collections.abc import Mapping

from tool_service import ToolService

KEY = "BRAIN_STORAGE_KEY"
PORT = 8083


def make_service(env: Mapping[str, str] = os.environ) -> ToolService:
    """The service. `env` says which providers, with which settings. Raises: CannotServe."""
    del env
    return ToolService("storage", token_env=KEY, port=PORT)
