"""A model that was in the host config once and isn't any more. Above: `session`."""

from collections.abc import AsyncGenerator

from brain.engine.model.protocol import Answer, Delta, Failure, ModelRequest
from brain_core.usage import Usage


class UnavailableModel:
    """Fails each call, so that a session whose model went away says so and stays usable."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Answer | Failure, None]:
        yield Failure(
            code="model_unavailable",
            message=f"The model {request.model!r} isn't configured on this server any more.",
            transient=False,
            usage=Usage(),
        )
