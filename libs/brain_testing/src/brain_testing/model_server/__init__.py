"""A model provider for tests: real HTTP, three wire formats, and as strict as the real ones.

Above: tests of models, of the loop, of a whole Brain. `refusal` holds what the providers refuse,
and can be used without a server.
"""

from brain_testing.model_server.refusal import refusal
from brain_testing.model_server.seals import encrypted_of, signature_of
from brain_testing.model_server.strict import DIALECTS, Dialect

__all__ = ["DIALECTS", "Dialect", "encrypted_of", "refusal", "signature_of"]
