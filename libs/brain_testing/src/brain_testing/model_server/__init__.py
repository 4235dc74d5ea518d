"""A provider of models for tests: real HTTP, three wire formats, and as strict as the real ones.

    async with model_server((Say("Hello."),)) as server:
        ...  # server.url, server.provider("openai-chat"), server.requests

Above: tests of models, of the loop, of a whole Brain. `refusal` holds what the providers refuse,
and can be used without a server.
"""

from brain_testing.model_server.refusal import refusal
from brain_testing.model_server.script import (
    Call,
    Cut,
    Finish,
    More,
    Recorded,
    Refuse,
    Say,
    Script,
    Status,
    StreamError,
    Think,
    Used,
)
from brain_testing.model_server.seals import encrypted_of, signature_of
from brain_testing.model_server.server import KEY, Asked, ModelServer, model_server
from brain_testing.model_server.strict import DIALECTS, Dialect
from brain_testing.scripted_model import Gate

__all__ = [
    "DIALECTS",
    "KEY",
    "Asked",
    "Call",
    "Cut",
    "Dialect",
    "Finish",
    "Gate",
    "ModelServer",
    "More",
    "Recorded",
    "Refuse",
    "Say",
    "Script",
    "Status",
    "StreamError",
    "Think",
    "Used",
    "encrypted_of",
    "model_server",
    "refusal",
    "signature_of",
]
